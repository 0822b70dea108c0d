package filecontext

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// Reason says why a path was refused. It goes to the client as it is.
type Reason string

// The reasons.
const (
	ReasonBadPath    Reason = "bad_path"    // empty, too long, or with a NUL
	ReasonBadURI     Reason = "bad_uri"     // not a `file:` URI of this machine, or one that hides its path
	ReasonOutside    Reason = "outside"     // leads out of the session's folders, by name or by a link
	ReasonMissing    Reason = "missing"     // not there
	ReasonDirectory  Reason = "directory"   // a folder
	ReasonNotRegular Reason = "not_regular" // a pipe, device or socket
	ReasonUnreadable Reason = "unreadable"  // no permission, or the disk fails
	ReasonTooLarge   Reason = "too_large"   // above the size limit
	ReasonBinary     Reason = "binary"      // not text
	ReasonEncoding   Reason = "encoding"    // text, but neither UTF-8 nor UTF-16 with a byte order mark
	ReasonRange      Reason = "range"       // lines that the file does not have
	ReasonFull       Reason = "no_room"     // the session holds as many files or bytes as it may
)

// explanations say what is wrong and, where there is one, the way out.
var explanations = map[Reason]string{
	ReasonBadPath:    "is not a path",
	ReasonBadURI:     "is not a file: URI of this machine",
	ReasonOutside:    "leads out of the session's folders",
	ReasonMissing:    "does not exist",
	ReasonDirectory:  "is a folder: name the files in it",
	ReasonNotRegular: "is no regular file",
	ReasonUnreadable: "cannot be read",
	ReasonTooLarge:   "is above the size limit",
	ReasonBinary:     "is binary",
	ReasonEncoding:   "is not UTF-8: convert it first",
	ReasonRange:      "does not have these lines",
	ReasonFull:       "does not fit: remove files from the session first",
}

// Explain says what is wrong with a path, as the end of a sentence that begins with it.
func (r Reason) Explain() string { return explanations[r] }

// RefusedError says that a path is not taken, and why.
type RefusedError struct {
	Path   string // as it was given
	Reason Reason
	Detail string // what more is known, such as a size or type; may be empty
}

func (e *RefusedError) Error() string {
	text := fmt.Sprintf("%s %s", Printable(e.Path), e.Reason.Explain())
	if e.Detail != "" {
		text += " (" + e.Detail + ")"
	}
	return text
}

func refuse(path string, reason Reason, detail string) error {
	return &RefusedError{Path: path, Reason: reason, Detail: detail}
}

// refuseOS turns an error of os.Root into a refusal. What the system did not refuse, os.Root itself did:
// the path leads out by a link.
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

// ReasonOf returns the reason in err, or ReasonUnreadable where it has none.
func ReasonOf(err error) Reason {
	var refused *RefusedError
	if errors.As(err, &refused) {
		return refused.Reason
	}
	return ReasonUnreadable
}

// EditReason says why a file may not be patched. It goes to the client as it is.
type EditReason string

// The reasons to refuse an edit.
const (
	EditNotAvailable EditReason = "not_available" // the model was not shown the file
	EditSummaryOnly  EditReason = "summary_only"  // the model was shown less than the whole file
	EditStale        EditReason = "stale"         // the model, or the frontend, has another version
)

// EditRefusedError says that a file may not be patched, and why.
type EditRefusedError struct {
	Path   string
	Reason EditReason
}

func (e *EditRefusedError) Error() string {
	return fmt.Sprintf("edit of %s refused: %s", Printable(e.Path), e.Reason)
}
