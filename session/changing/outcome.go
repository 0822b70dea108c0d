package changing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/internal/clip"
	"strata/session/clients"
)

// readBack is a file after an editor was told to write it.
type readBack struct {
	content *filecontext.Content // nil if there is none, or if it is not text
	site    *change.Site         // on disk; nil if it cannot be read
	edited  bool                 // the content is that of the editor, saved or not
}

// errCancelled is what is known of an editor's response after a cancel.
var errCancelled = errors.New("the call was cancelled while the editor wrote the file")

// outcome returns what became of a change that the editor was told to make. said is the error of its response. After a cancel
// it waits for nothing but the disk.
func (c *edition) outcome(ctx context.Context, e editing, said error) *Made {
	now := c.readBack(ctx, e, said)
	made := &Made{Content: now.content}
	made.State = c.state(now, said)
	name := titlePath(c.ref.Path)
	as := name + " is as it was"
	if c.site.Bytes == nil && c.before == nil {
		as = "there is no " + name
	}
	switch {
	case made.State == change.NotDone && (errors.Is(said, clients.ErrLate) || errors.Is(said, errCancelled)):
		made.Note = fmt.Sprintf("Nothing was changed yet: %s; %s. The editor may still write it: read it again before you change it.", words(said), as)
	case made.State == change.NotDone:
		made.Note = fmt.Sprintf("Nothing was changed: %s; %s.", words(said), as)
	case made.State == change.Unknown:
		made.Note = fmt.Sprintf("It is not known whether %s was changed: %s. Read it before you change it.", name, words(said))
	case said != nil:
		made.Note = fmt.Sprintf("The text is there, although %s.", words(said))
	}
	if made.State == change.Done {
		c.saved(made, now)
	}
	return made
}

// words returns what an editor said, as the end of a sentence.
func words(said error) string {
	if said == nil {
		return "the editor reported success, but has not written the text"
	}
	if refused, ok := errors.AsType[*clients.Refused](said); ok {
		const most = 500 // characters
		return fmt.Sprintf("the editor responded with an error: %s (code %d)", filecontext.Printable(clip.Line(refused.Message, most)), refused.Code)
	}
	for _, known := range editorErrors {
		if errors.Is(said, known) {
			return known.Error() // without what was invalid
		}
	}
	return "the request to the editor failed"
}

// editorErrors are the errors of requests to an editor but for its own.
var editorErrors = []error{clients.ErrGone, clients.ErrLate, clients.ErrBusy, clients.ErrInvalid, errCancelled}

// isOfEditor reports whether an error is one of a request to an editor.
func isOfEditor(err error) bool {
	return isRefused(err) || slices.ContainsFunc(editorErrors, func(known error) bool { return errors.Is(err, known) })
}

// readBack returns the file as it is now: as the editor shows it if it has responded, else as it is on disk.
func (c *edition) readBack(ctx context.Context, e editing, said error) (now readBack) {
	disk := context.WithoutCancel(ctx)
	site, err := c.site.Again(disk)
	if err != nil {
		return now
	}
	now.site = site
	if (said == nil || isRefused(said)) && e.editor.Can(clients.ReadFiles) {
		if now.content, _, err = e.shown(ctx, c.ref, site); err == nil {
			now.edited = true
			return now
		}
	}
	if now.content, _, err = site.Text(disk); err == nil && now.content != nil {
		e.w.texts.Put(now.content)
	}
	return now
}

// state returns whether the change was made. An editor that has failed is not believed: the text must be there.
func (c *edition) state(now readBack, said error) change.State {
	if now.site == nil {
		return change.Unknown
	}
	onDisk := !now.site.Is(c.site) // something has changed
	isThere := now.content != nil && (said == nil || sameVersion(now.content, c.draft.After))
	switch {
	case now.edited && !onDisk && sameVersion(now.content, c.before):
		return change.NotDone
	case isThere && (now.edited || onDisk):
		return change.Done
	case !now.edited && !onDisk && said != nil:
		return change.NotDone
	}
	return change.Unknown
}

// saved completes a change that was made with the bytes of the file: those on disk, or, if the editor has not saved its text
// yet, those that it will have if the editor keeps its encoding and line ends.
func (c *edition) saved(made *Made, now readBack) {
	made.Next = now.site.Bytes
	if now.site.Is(c.site) && now.content.Disk() != "" {
		made.Next = c.site.Saved(now.content.Text)
		made.Note = strings.TrimSpace(made.Note + " The editor has not saved it yet.")
	}
	before := c.site.Bytes
	if c.wasUnsaved() {
		before = c.site.Saved(c.before.Text)
		made.Image = before
	}
	made.Effects = []change.Effect{c.site.Effect(before, made.Next)}
}

// wasUnsaved reports whether the text before the change was not on disk. Whoever takes the change back wants that text, not
// that of the disk.
func (c *edition) wasUnsaved() bool {
	return c.before != nil && c.before.Disk() != "" && c.site.IsExact()
}
