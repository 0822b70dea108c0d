package filecontext

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"strata/internal/clip"
)

// Reason is the reason why a path was refused. It is sent to the client.
type Reason string

// The reasons.
const (
	ReasonBadPath    Reason = "bad_path"       // empty, too long, or with a NUL
	ReasonBadURI     Reason = "bad_uri"        // not a `file:` URI of this machine, or ambiguous
	ReasonNoFile     Reason = "not_a_file"     // an address that is not a `file:` URI
	ReasonNoFolder   Reason = "folder_missing" // the session's folder cannot be opened
	ReasonOutside    Reason = "outside"        // outside the session's folders, by name or through a link
	ReasonReplaced   Reason = "replaced"       // a folder of the session is a link now
	ReasonOwn        Reason = "own"            // a file of the program itself: its token, database, configuration
	ReasonSecret     Reason = "secret"         // looks like a secret, and the user did not allow it
	ReasonMissing    Reason = "missing"        // does not exist
	ReasonDirectory  Reason = "directory"      // a folder
	ReasonNotRegular Reason = "not_regular"    // a pipe, device or socket
	ReasonUnreadable Reason = "unreadable"     // no permission, or the disk fails
	ReasonTooLarge   Reason = "too_large"      // above the size limit
	ReasonBinary     Reason = "binary"         // not text
	ReasonEncoding   Reason = "encoding"       // text, but for the most part neither UTF-8 nor UTF-16 with a byte order mark
	ReasonRange      Reason = "range"          // the file does not have the lines
	ReasonFull       Reason = "no_room"        // the session has the maximum number of files or bytes
	ReasonNoOutline  Reason = "no_outline"     // in no language that has outlines
	ReasonNoPicture  Reason = "no_picture"     // read as a picture, and not a PNG, JPEG, GIF or WebP
	ReasonExists     Reason = "exists"         // a new file would be there, and something is
	ReasonReadOnly   Reason = "read_only"      // may be read, and not be changed
	ReasonAway       Reason = "away"           // the client that has the files is not connected, or does not respond
)

// explanations describe the problem and, if possible, the remedy.
var explanations = map[Reason]string{
	ReasonBadPath:    "is not a path",
	ReasonBadURI:     "is not a file: URI of this machine",
	ReasonNoFile:     "is not a file: URI; only the address is sent",
	ReasonNoFolder:   "cannot be read: the session's folder cannot be opened",
	ReasonOutside:    "is outside the session's folders",
	ReasonReplaced:   "is in a folder that was replaced by another since the session was opened; close the session and open it again",
	ReasonOwn:        "belongs to Strata, which reads none of its own files for a session",
	ReasonSecret:     "looks like a secret; add it with allow, or change files.secrets of the configuration",
	ReasonMissing:    "does not exist",
	ReasonDirectory:  "is a folder; add the files in it",
	ReasonNotRegular: "is not a regular file",
	ReasonUnreadable: "cannot be read",
	ReasonTooLarge:   "exceeds the size limit",
	ReasonBinary:     "is binary",
	ReasonEncoding:   "is not UTF-8; convert it first",
	ReasonRange:      "does not have these lines",
	ReasonFull:       "does not fit; remove files from the session first",
	ReasonNoOutline:  "is in no language that has outlines; add it in full",
	ReasonNoPicture:  "is no picture that can be shown",
	ReasonExists:     "exists already",
	ReasonReadOnly:   "is read-only",
	ReasonAway:       "is not available now: the client that has the files is not connected or does not respond",
}

// Explain returns a description of r to follow the path in a sentence.
func (r Reason) Explain() string { return explanations[r] }

// RefusedError is the error for a refused path.
type RefusedError struct {
	Path   string // as given by the caller
	Reason Reason
	Detail string // such as a size or type; may be empty
	Err    error  // the error of the client that has the files; may be nil
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s %s", Printable(clip.Path(e.Path)), e.Reason.Explain())
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

// Unwrap returns the error of the client.
func (e *RefusedError) Unwrap() error { return e.Err }

func refuse(path string, reason Reason, detail string) error {
	return &RefusedError{Path: path, Reason: reason, Detail: detail}
}

// refuseOS converts an error of os.Root to a *RefusedError. An error without an errno comes from os.Root itself: the
// path leaves the root through a link.
func refuseOS(path string, err error) error {
	reason := ReasonOutside
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		reason = ReasonMissing
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, fs.ErrInvalid):
		reason = ReasonBadPath
	case errors.As(err, &errno):
		reason = ReasonUnreadable
	}
	return refuse(path, reason, "")
}

// ReasonOf returns the reason in err, or ReasonUnreadable if err is not a *RefusedError.
func ReasonOf(err error) Reason {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ReasonUnreadable
}

// EditReason is the reason why an edit of a file is refused. It is sent to the client.
type EditReason string

// The reasons to refuse an edit.
const (
	EditNotAvailable EditReason = "not_available" // the model was not shown the file
	EditSummaryOnly  EditReason = "summary_only"  // the model was shown less than the whole file
	EditStale        EditReason = "stale"         // the model or the frontend has another version
	EditEncoding     EditReason = "encoding"      // the text that the model was shown is not all that the file contains
)

// EditRefusedError is the error for an edit that is not allowed.
type EditRefusedError struct {
	Path   string
	Reason EditReason
}

func (e *EditRefusedError) Error() string {
	return fmt.Sprintf("edit of %s refused: %s; %s", Printable(clip.Path(e.Path)), e.Reason, e.Reason.remedy())
}

// remedy tells how the edit becomes allowed.
func (r EditReason) remedy() string {
	switch r {
	case EditSummaryOnly:
		return "add the whole file, and send a prompt, before editing it"
	case EditEncoding:
		return "the file contains bytes that are not UTF-8, which an edit would lose; convert it first"
	case EditStale:
		return "it has changed: send a prompt, so that the model sees the current version, and edit that"
	}
	return "add the file, and send a prompt with it, before editing it"
}
