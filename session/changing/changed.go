package changing

import (
	"context"
	"errors"
	"fmt"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/session/clients"
	"strata/session/tools"
)

// told returns the result for the model of a change that was made. now is the file after the change, nil for no file and for
// bytes that are not text; note is a sentence about the editor that made the change, or empty.
type told func(p *Planned, now *filecontext.Content, note string) tools.Result

// prepared returns a planned change with its diffs for clients. Its result has at most limit bytes of text.
func (c changer) prepared(p *Planned, tell told, limit int) *tools.Prepared {
	return &tools.Prepared{
		Change: p.Change, Diffs: p.diffs(p.After),
		Make: func(ctx context.Context) (tools.Result, error) {
			made, err := p.Make(ctx)
			if err != nil {
				return p.notMade(ctx, err)
			}
			if made.State != change.Done {
				r := tools.Cut(tools.Failed("%s", made.Note), limit)
				r.Made = &made.Made
				return r, nil
			}
			r := tools.Cut(tell(p, made.Content, made.Note), limit)
			r.Diffs, r.Made = p.diffs(made.Content), &made.Made
			return r, nil
		},
	}
}

// notMade returns the result of a change whose Make has failed.
func (p *Planned) notMade(ctx context.Context, failed error) (r tools.Result, err error) {
	if ended := ctx.Err(); ended != nil && errors.Is(failed, ended) {
		return tools.Result{}, ended
	}
	ctx = context.WithoutCancel(ctx)
	path, state := p.Effects[0].Path, p.State(ctx)
	switch state {
	case change.NotDone:
		r, err = notChanged(ctx, path, failed)
		if mayFollow(failed) {
			r = tools.Failed("%s has not changed so far: %s. The editor may still change it: read it again before you change it.", titlePath(path), words(failed))
		}
	case change.Done:
		if isOfEditor(failed) {
			r = tools.Failed("%s was changed, although %s.", titlePath(path), words(failed))
			break
		}
		r = tools.Failed("%s was changed, but then: %v.", titlePath(path), failed)
	default:
		r = tools.Failed("It is unknown whether %s was changed: %v. Read it before you continue.", titlePath(path), failed)
	}
	r.Made = &tools.Made{State: state}
	return r, err
}

// mayFollow reports whether the client that has the files has a request to change them, without a response that it will not.
func mayFollow(failed error) bool {
	return errors.Is(failed, clients.ErrLate) || errors.Is(failed, clients.ErrGone)
}

// diffs returns the diff for clients; a move has none.
func (p *Planned) diffs(now *filecontext.Content) []history.Diff {
	if len(p.Effects) > 1 {
		return nil
	}
	e := &p.Effects[0]
	d := diffOf(e.Path, p.Before, now).shown(history.MaxDiff)
	d.Created, d.Deleted = e.Before == filecontext.NoFile && p.Before == nil, e.After == filecontext.NoFile
	return []history.Diff{d}
}

// edited is the result of edit_file: the diff.
func edited(p *Planned, now *filecontext.Content, note string) tools.Result {
	d := diffOf(now.Path, p.Before, now)
	if len(d.hunks) == 0 {
		return text("The edits were made, but the editor undid them: %s has not changed.%s\n", filecontext.Printable(now.Path), after(note))
	}
	further, own := "", d.changedLines()
	if now.Version() != p.After.Version() {
		own = nil // some of the lines are the editor's
		further = " The editor changed the text further when saving; the diff includes that."
	}
	r := text("Edited %s, which now has %s.%s%s\n", filecontext.Printable(now.Path), lineCount(now.Lines), further, after(note))
	r.Content[0].Shows = []history.FileLines{version(now, own, p.Before, d)}
	return withDiff(r, d, now)
}

// withDiff adds a diff to the result as a text of its own, so that truncating the diff keeps the rest.
func withDiff(r tools.Result, d *fileDiff, now *filecontext.Content) tools.Result {
	name := filecontext.Printable(now.Path)
	block := history.Block{Type: history.BlockText, Text: filecontext.Fence("Changes to "+name, d.unified())}
	block.Shows = []history.FileLines{version(now, d.newLines(), nil, nil)}
	r.Content = append(r.Content, block)
	return r
}

// version returns lines of a version of a file that a result shows, and how the version was made of the one before.
func version(now *filecontext.Content, lines []history.Lines, before *filecontext.Content, d *fileDiff) history.FileLines {
	shown := history.FileLines{Path: now.Path, Version: now.Version(), Lines: lines, Of: now.Lines, Disk: now.Disk()}
	if before != nil {
		shown.From = &history.Derivation{Version: before.Version(), Hunks: merged(d.lineHunks())}
	}
	return shown
}

// written is the result of write_file: the call has the text. If an editor has changed it, the result has the difference.
func written(p *Planned, now *filecontext.Content, note string) tools.Result {
	name := filecontext.Printable(now.Path)
	what := "Created " + name
	if p.Before != nil {
		what = fmt.Sprintf("Replaced %s, which had %s,", name, lineCount(p.Before.Lines))
	}
	r := text("%s with %s.%s\n", what, lineCount(now.Lines), after(note))
	d := diffOf(now.Path, p.After, now)
	r.Content[0].Shows = []history.FileLines{version(now, d.sameLines(), p.Before, diffOf(now.Path, p.Before, now))}
	if now.Version() == p.After.Version() {
		return r
	}
	r.Content[0].Text += "The editor changed the text when saving:\n"
	return withDiff(r, d, now)
}

// after returns a sentence with a blank before it.
func after(sentence string) string {
	if sentence == "" {
		return ""
	}
	return " " + sentence
}

// deleted is the result of delete_file.
func deleted(p *Planned, _ *filecontext.Content, _ string) tools.Result {
	path := p.Effects[0].Path
	r := text("Deleted %s.\n", filecontext.Printable(path))
	if p.Before != nil {
		r.Content[0].Shows = []history.FileLines{gone(path, p.Before)}
	}
	return r
}

// gone records that the file at a path no longer exists.
func gone(path string, before *filecontext.Content) history.FileLines {
	return history.FileLines{Path: path, From: &history.Derivation{Version: before.Version()}}
}

// moved is the result of move_file. The lines that were shown of the file are shown of it at its new path.
func moved(p *Planned, now *filecontext.Content, _ string) tools.Result {
	from, to := p.Effects[0].Path, p.Effects[1].Path
	r := text("Moved %s to %s.\n", filecontext.Printable(from), filecontext.Printable(to))
	if now != nil && p.Before != nil {
		at := history.FileLines{Path: to, Version: now.Version(), Of: now.Lines, From: &history.Derivation{Path: from, Version: p.Before.Version()}}
		r.Content[0].Shows = []history.FileLines{at, gone(from, p.Before)}
	}
	return r
}
