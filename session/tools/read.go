package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
)

// Reader reads files for tools. The error is a *filecontext.RefusedError, or that of ctx.
type Reader interface {
	Read(ctx context.Context, path string) (filecontext.Content, error)
}

// Disk reads files from disk.
type Disk struct{ Roots *filecontext.Roots }

// Read implements Reader.
func (d Disk) Read(ctx context.Context, path string) (filecontext.Content, error) {
	ref, err := d.Roots.Locate(path)
	if err != nil {
		return filecontext.Content{}, err
	}
	return d.Roots.Read(ctx, ref)
}

// Shown tells which lines of files the next request shows. A reads.View is one.
type Shown interface {
	// Covers reports whether all of the lines of a version of a file are shown; the zero Lines are those of an empty file.
	Covers(path, version string, lines history.Lines) bool
}

// readInput is the input of read_file.
type readInput struct {
	Path  string `json:"path" need:"content"`
	Start int    `json:"start_line"`
	End   int    `json:"end_line"`
}

const readSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"Path of the file, relative to the workspace folder or absolute"},` +
	`"start_line":{"type":"integer","minimum":1,"description":"First line to read, counted from 1; by default the first line of the file"},` +
	`"end_line":{"type":"integer","minimum":1,"description":"Last line to read; by default the last line of the file"}},` +
	`"required":["path"],"additionalProperties":false}`

// readFile returns the tool read_file.
func readFile(roots *filecontext.Roots, reader Reader, shown Shown) Tool {
	return Tool{
		Definition: Definition{
			Name: "read_file",
			Description: "Read a text file of the workspace, or some of its lines. The text is what the user sees in the editor, " +
				"with changes that are not saved. A result has at most 50 KB: of longer texts it has the first and the last lines, " +
				"and says which lines are omitted. Lines that are already shown above in their current version are not repeated. " +
				"Pictures (PNG, JPEG, GIF, WebP, at most 5 MB) are shown as pictures.",
			Schema: json.RawMessage(readSchema),
		},
		Kind: KindRead, ReadOnly: true,
		Describe: func(raw json.RawMessage) Description {
			in := decoded[readInput](raw)
			return Description{Title: "Read " + titlePath(in.Path) + in.linesTitle(), Locations: []Location{{Path: in.Path, Line: in.Start}}}
		},
		Run: with(func(ctx context.Context, in readInput, _ int) (Result, error) {
			if isPicture(in.Path) {
				return readPicture(ctx, roots, in.Path)
			}
			content, err := reader.Read(ctx, in.Path)
			if err != nil {
				return refused(ctx, in.Path, err)
			}
			return in.result(&content, shown), nil
		}),
	}
}

// isPicture reports whether a file is a picture by its name.
func isPicture(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".webp"}, strings.ToLower(path.Ext(name)))
}

// readPicture returns a picture on disk.
func readPicture(ctx context.Context, roots *filecontext.Roots, name string) (Result, error) {
	ref, err := roots.Locate(name)
	if err != nil {
		return refused(ctx, name, err)
	}
	p, err := roots.ReadPicture(ctx, ref)
	if err != nil {
		return refused(ctx, name, err)
	}
	r := text("%s: %s, %d x %d pixels\n", filecontext.Printable(p.Path), p.MIME, p.Width, p.Height)
	r.Content = append(r.Content, history.Block{Type: history.BlockImage, Data: p.Data, MIME: p.MIME, Width: p.Width, Height: p.Height})
	return r, nil
}

func titlePath(path string) string { return filecontext.Printable(clip.Path(path)) }

func (in *readInput) linesTitle() string {
	switch {
	case in.Start == 0 && in.End == 0:
		return ""
	case in.End == 0:
		return fmt.Sprintf(" from line %d", in.Start)
	}
	return fmt.Sprintf(" lines %d to %d", max(in.Start, 1), in.End)
}

// result returns the lines of a file that were asked for, or that the next request shows all of them.
func (in *readInput) result(content *filecontext.Content, shown Shown) Result {
	lines := history.Lines{Start: max(in.Start, 1), End: content.Lines}
	if in.End > 0 {
		lines.End = min(in.End, content.Lines)
	}
	name := filecontext.Printable(content.Path)
	switch {
	case in.End > 0 && in.End < lines.Start:
		return Failed("end_line %d is before start_line %d", in.End, lines.Start)
	case content.Lines == 0 && lines.Start == 1:
		lines = history.Lines{}
	case lines.Start > content.Lines:
		return Failed("%s has only %s; start_line is %d", name, number(content.Lines, "line"), lines.Start)
	}
	file := &history.FileLines{Path: content.Path, Version: content.Version(), Of: content.Lines, Lossy: content.Lossy, Disk: content.Disk()}
	if shown != nil && shown.Covers(file.Path, file.Version, lines) {
		return text("%s", alreadyShown(name, lines, content.Lines))
	}
	asked := filecontext.CutLines(content.UnixText(), filecontext.Range(lines))
	return Result{Content: []history.Block{fileBlock(file, asked, lines)}}
}

// alreadyShown returns the line that stands for lines that the next request shows in their current version.
func alreadyShown(name string, lines history.Lines, of int) string {
	if lines.Start <= 1 && lines.End == of {
		return fmt.Sprintf("%s is already shown above, whole and in its current version.", name)
	}
	return fmt.Sprintf("Lines %d to %d of %s are already shown above in their current version.", lines.Start, lines.End, name)
}

// remedies tell a model what it can do instead.
var remedies = map[filecontext.Reason]string{
	filecontext.ReasonBadPath:    "is not a path",
	filecontext.ReasonBadURI:     "is not a path of this machine",
	filecontext.ReasonNoFile:     "is not a path",
	filecontext.ReasonOutside:    "is outside the workspace; tools read only files in it",
	filecontext.ReasonOwn:        "belongs to the program that runs the tools, and cannot be read",
	filecontext.ReasonSecret:     "looks like a secret, and cannot be read unless the user adds it",
	filecontext.ReasonMissing:    "does not exist; list_files shows the files that do",
	filecontext.ReasonDirectory:  "is a folder; list_files shows its files",
	filecontext.ReasonTooLarge:   "is too large to read",
	filecontext.ReasonReplaced:   "is in a folder that was replaced by another, and cannot be read",
	filecontext.ReasonNoFolder:   "cannot be read: the workspace folder cannot be opened",
	filecontext.ReasonUnreadable: "cannot be read",
}

// refused returns the result for a path that cannot be read, or the error of ctx.
func refused(ctx context.Context, path string, err error) (Result, error) {
	if ctx.Err() != nil {
		return Result{}, ctx.Err()
	}
	reason, detail := filecontext.ReasonOf(err), ""
	var refusal *filecontext.RefusedError
	if errors.As(err, &refusal) && refusal.Detail != "" {
		detail = " (" + refusal.Detail + ")"
	}
	why := remedies[reason]
	if why == "" {
		why = reason.Explain()
	}
	return Failed("%s %s%s", titlePath(cmp.Or(path, ".")), why, detail), nil
}
