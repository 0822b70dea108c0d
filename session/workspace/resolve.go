package workspace

import (
	"context"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/session/fit"
	"strata/tokens"
)

// Attachment is a file that was read and is to be added to the context.
type Attachment struct {
	content filecontext.Content
	options filecontext.AddOptions
	needed  bool   // without it the prompt is refused
	told    string // instead of a file: the name of a secret-looking text that stays in the prompt, to tell the user
}

// Read reads the file that a request names. If it is one of the given files with a client's unsaved text, that is its
// content unless the file on disk has changed since the text came. A client's text that the disk has too is not unsaved.
func Read(ctx context.Context, roots *filecontext.Roots, files []filecontext.Entry, req FileRequest) (Attachment, error) {
	ref, err := roots.Locate(req.Path)
	if err != nil {
		return Attachment{}, err
	}
	a := Attachment{options: filecontext.AddOptions{
		Reason: "asked for", Range: ref.Lines, Once: req.Once, Pinned: req.Pinned != nil && *req.Pinned, LineNumbers: req.LineNumbers,
	}}
	if req.Range != nil {
		a.options.Range = *req.Range
	}
	if req.Summary {
		a.options.State = filecontext.SummaryOnly
	}
	known := slices.IndexFunc(files, func(e filecontext.Entry) bool { return e.Path == ref.Path })
	ref.Allow = req.Allow || known >= 0 && files[known].Allowed
	switch {
	case req.Content != nil:
		a.content, a.options.Saved, err = roots.Buffer(ctx, ref, *req.Content)
		a.options.Unsaved = !a.options.Saved
	case known >= 0 && files[known].Unsaved:
		var now filecontext.Entry
		now, err = present(ctx, roots, files[known])
		a.content = now.Content
	default:
		a.content, err = roots.Read(ctx, ref)
	}
	a.options.Allowed = a.content.Secret
	return a, err
}

// Reader reads the files that prompts name. Nothing of it changes, so that it can be used outside the mailbox.
type Reader struct {
	roots *filecontext.Roots
	guard *filecontext.Guard
	files []filecontext.Entry
}

// Reader returns a reader for the folders and files as they are now.
func (w *Workspace) Reader() Reader {
	return Reader{roots: w.roots, guard: w.guard, files: w.files.List()}
}

// Resolve reads the files that the blocks of a prompt name. A link or an embedded text of a file in the session's folders
// attaches that file; in the blocks a link to it remains. A file that cannot be read stays in the blocks as it is and is
// omitted. The error is a *RefusedError for a required file that cannot be read.
func (r *Reader) Resolve(ctx context.Context, blocks []history.Block) (kept []history.Block, files []Attachment, omitted []fit.Omitted, err error) {
	for _, b := range blocks {
		switch b.Type {
		case history.BlockLink:
			switch file, err := r.linked(ctx, &b); {
			case err == nil:
				files = append(files, file)
			case b.Required:
				return nil, nil, nil, err
			default:
				omitted = append(omitted, fit.Omitted{Key: b.URI, Reason: string(filecontext.ReasonOf(err))})
			}
		case history.BlockResource:
			if file, ok := r.embedded(ctx, &b); ok {
				files = append(files, file)
				b = history.Block{Type: history.BlockLink, URI: b.URI, Name: file.content.Path}
			} else if r.guard.LooksSecret(b.URI) {
				files = append(files, Attachment{told: b.URI})
			}
		case history.BlockText:
			if b.Text == "" {
				continue
			}
		}
		kept = append(kept, b)
	}
	return kept, files, omitted, nil
}

// linked reads the file that a link names.
func (r *Reader) linked(ctx context.Context, link *history.Block) (Attachment, error) {
	switch {
	case !isFileURI(link.URI):
		return Attachment{}, &RefusedError{Path: link.URI, Reason: filecontext.ReasonNoFile}
	case r.roots == nil:
		return Attachment{}, &RefusedError{Path: link.URI, Reason: filecontext.ReasonNoFolder}
	}
	file, err := Read(ctx, r.roots, r.files, FileRequest{Path: link.URI, Allow: link.Allow})
	file.options.Reason, file.needed = "linked in a prompt", link.Required
	return file, err
}

// embedded returns the file whose unsaved text a prompt contains. A text from outside the session's folders is not a file,
// nor are some lines of a file.
func (r *Reader) embedded(ctx context.Context, b *history.Block) (Attachment, bool) {
	if r.roots == nil || !isFileURI(b.URI) {
		return Attachment{}, false
	}
	if ref, err := r.roots.Locate(b.URI); err != nil || ref.Part {
		return Attachment{}, false
	}
	file, err := Read(ctx, r.roots, r.files, FileRequest{Path: b.URI, Content: &b.Text})
	if err != nil {
		return Attachment{}, false
	}
	file.options.Reason = "embedded in a prompt"
	return file, true
}

func isFileURI(uri string) bool {
	return len(uri) >= len("file:") && strings.EqualFold(uri[:len("file:")], "file:")
}

// RequiredTokens returns the tokens of the files without which their prompt is refused.
func RequiredTokens(ctx context.Context, files []Attachment, counter *tokens.Counter) int {
	n := 0
	for _, file := range joined(files) {
		if file.needed {
			n += counter.CountContext(ctx, filecontext.Entry{Content: file.content, Range: file.options.Range}.Render())
		}
	}
	return n
}

// Try returns the files of a prompt in their stored form, and those that fit the context; the others are omitted. The
// error is a *RefusedError for a required file that does not fit.
func (w *Workspace) Try(files []Attachment) (stored []history.File, fitting []Attachment, omitted []fit.Omitted, err error) {
	for _, file := range joined(files) {
		if file.told != "" {
			fitting = append(fitting, file)
			continue
		}
		if !w.adapt(&file) {
			continue
		}
		switch e, err := w.files.Try(file.content, file.options); {
		case err == nil:
			fitting = append(fitting, file)
			stored = append(stored, history.File(e.Stored()))
		case file.needed:
			return nil, nil, nil, err
		default:
			omitted = append(omitted, fit.Omitted{Key: fit.FilePrefix + file.content.Path, Reason: string(filecontext.ReasonOf(err))})
		}
	}
	return stored, fitting, omitted, nil
}

// Attach adds the files of a stored prompt to the context, and tells the user what is special about them. It returns those
// that do not fit after all.
func (w *Workspace) Attach(files []Attachment) (omitted []fit.Omitted) {
	w.remark(files...)
	for _, file := range files {
		if file.told != "" {
			continue
		}
		if _, err := w.files.Put(file.content, file.options); err != nil {
			omitted = append(omitted, fit.Omitted{Key: fit.FilePrefix + file.content.Path, Reason: string(filecontext.ReasonOf(err))})
		}
	}
	return omitted
}

// With is the files of the context as they would be with those of a prompt.
type With struct {
	Files   []filecontext.Entry
	Omitted []fit.Omitted // files of the prompt that do not fit the context

	cache       *fit.RenderCache
	before, now []filecontext.Entry // of the files that change
}

// With returns the files of the context with those of a prompt, and changes nothing. The error is that of Try.
func (w *Workspace) With(files []Attachment) (*With, error) {
	_, fitting, omitted, err := w.Try(files)
	if err != nil {
		return nil, err
	}
	with := &With{Omitted: omitted, cache: w.cache}
	after := w.files.Clone()
	for _, file := range fitting {
		if file.told != "" {
			continue
		}
		old, in := after.Get(file.content.Path)
		e, err := after.Put(file.content, file.options)
		if err != nil {
			with.Omitted = append(with.Omitted, fit.Omitted{Key: fit.FilePrefix + file.content.Path, Reason: string(filecontext.ReasonOf(err))})
			continue
		}
		with.now = append(with.now, e)
		if in {
			with.before = append(with.before, old)
		}
	}
	with.Files = after.List()
	return with, nil
}

// Tokens returns the tokens that the files of the prompt add.
func (with *With) Tokens(counter *tokens.Counter) int {
	n := 0
	for _, e := range with.now {
		n += with.cache.Tokens(e, counter)
	}
	for _, e := range with.before {
		n -= with.cache.Tokens(e, counter)
	}
	return max(n, 0)
}

// joined returns the files of a prompt, each once, even if it is named several times: all of its lines that are asked for
// are shown, and the client's own text is its content.
func joined(files []Attachment) []Attachment {
	var out []Attachment
	at := make(map[string]int)
	for _, f := range files {
		i, again := at[f.content.Path]
		if !again || f.told != "" {
			if f.told == "" {
				at[f.content.Path] = len(out)
			}
			out = append(out, f)
			continue
		}
		one := &out[i]
		one.options.Allowed = one.options.Allowed || f.options.Allowed
		one.needed = one.needed || f.needed
		one.options.Range = hull(one.options.Range, f.options.Range)
		if f.options.Unsaved || f.options.Saved {
			one.content, one.options.Unsaved, one.options.Saved = f.content, f.options.Unsaved, f.options.Saved
		}
	}
	return out
}

// hull returns the smallest range that contains both.
func hull(a, b filecontext.Range) filecontext.Range {
	if a.IsWhole() || b.IsWhole() {
		return filecontext.Range{}
	}
	return filecontext.Range{Start: min(a.Start, b.Start), End: max(a.End, b.End)}
}

// adapt makes a file of a prompt show no less than it does already. It reports false if everything asked for is shown.
func (w *Workspace) adapt(file *Attachment) bool {
	old, in := w.files.Get(file.content.Path)
	if !in {
		return true
	}
	file.options.LineNumbers, file.options.Pinned = old.LineNumbers, old.Pinned
	if old.State == filecontext.SummaryOnly || file.options.Unsaved || file.options.Saved && old.Unsaved {
		return true
	}
	before := old.Range
	if old.State == filecontext.Full {
		before = filecontext.Range{}
	}
	asked := file.options.Range
	file.options.Range = hull(before, asked)
	return file.options.Range != before || old.Once && asked.IsWhole()
}
