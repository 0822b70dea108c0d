// Package changing has the tools of a model that change files.
//
// A tool must never change lines that the model was not shown in their present version, and never anything before its call was
// prepared. What is wrong with a call is told to the model in its result; an error is only that of the context.
package changing

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/history"
	"strata/internal/exact"
	"strata/session/tools"
)

// Tools returns the built-in tools that change files. seen is what the model was shown.
func Tools(writer Writer, seen tools.Shown) []tools.Tool {
	c := changer{writer, seen}
	return []tools.Tool{c.editFile(), c.writeFile(), c.deleteFile(), c.moveFile()}
}

// changer makes changes for the model.
type changer struct {
	writer Writer
	seen   tools.Shown
}

type editInput struct {
	Path  string        `json:"path" need:"content"`
	Edits []change.Edit `json:"edits"`
}

const editSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"Path of the file, relative to the workspace folder or absolute"},` +
	`"edits":{"type":"array","description":"The edits, made one after the other; all of them or none","items":{"type":"object","properties":{` +
	`"old_text":{"type":"string","description":"Text to replace, exactly as it is in the file, with enough lines around it to occur only once"},` +
	`"new_text":{"type":"string","description":"Text to put in its place"},` +
	`"replace_all":{"type":"boolean","description":"Whether to replace every occurrence; default false"}},` +
	`"required":["old_text","new_text"],"additionalProperties":false}}},` +
	`"required":["path","edits"],"additionalProperties":false}`

func (c changer) editFile() tools.Tool {
	return tools.Tool{
		Definition: tools.Definition{
			Name: "edit_file",
			Description: "Replace texts in a text file of the workspace. Each old_text must occur exactly once, unless replace_all is set, and its " +
				"lines must have been shown to you in their present version, by read_file, search, or an earlier change. The file keeps " +
				"its encoding and line ends; write lines with LF. The result is the diff: a file need not be read again after your own edit. At most 100 edits.",
			Schema: json.RawMessage(editSchema),
		},
		Kind: tools.KindEdit,
		Describe: func(raw json.RawMessage) tools.Description {
			in := decoded[editInput](raw)
			return tools.Description{Title: "Edit " + titlePath(in.Path), Locations: []tools.Location{{Path: in.Path}}}
		},
		Prepare: preparing(func(ctx context.Context, in editInput, limit int) (*tools.Prepared, error) {
			p, err := c.writer.Edit(ctx, in.Path, in.Edits)
			if err != nil {
				return notPlanned(ctx, in.Path, err)
			}
			if unseen := c.unseen(p, limit); unseen != "" {
				return tools.Refuse(tools.Failed("%s", unseen)), nil
			}
			return c.prepared(p, edited, limit), nil
		}),
	}
}

// preparing returns the Prepare of a tool whose input is a T: do gets the input and the limit of the result.
func preparing[T any](do func(ctx context.Context, in T, limit int) (*tools.Prepared, error)) func(context.Context, tools.Input) (*tools.Prepared, error) {
	return func(ctx context.Context, call tools.Input) (*tools.Prepared, error) {
		var in T
		if err := exact.Decode(call.Args, "", &in); err != nil {
			return tools.Refuse(tools.Failed("%v", err)), nil
		}
		return do(ctx, in, call.Limit)
	}
}

// unseen returns which lines that edits cover the model was not shown, and how to read them; "" for none. limit is that of a
// result.
func (c changer) unseen(p *Planned, limit int) string {
	path := p.Before.Path
	var all []string
	first := 0
	for _, lines := range p.Covered {
		if c.isShown(p.Before, history.Lines(lines)) {
			continue
		}
		if tooLong := c.tooLong(p.Before, history.Lines(lines), limit); tooLong != "" {
			return "Nothing was changed: old_text covers " + tooLong
		}
		if first == 0 {
			first = lines.Start
		}
		all = append(all, lineNames(lines))
	}
	if len(all) == 0 {
		return ""
	}
	const most = 8
	if more := len(all) - most; more > 0 {
		all = append(all[:most], fmt.Sprintf("%d more places", more))
	}
	return fmt.Sprintf("Nothing was changed: old_text covers %s of %s, which you were not shown in their present version. Read them first with "+
		"read_file and start_line %d, then edit.", strings.Join(all, ", "), filecontext.Printable(path), first)
}

// isShown reports whether the model was shown lines of a version of a file.
func (c changer) isShown(file *filecontext.Content, lines history.Lines) bool {
	return c.seen.Covers(file.Path, file.Version(), lines)
}

// tooLong returns which of some lines no result can show whole, so that the advice to read it would not help; "" for none.
func (c changer) tooLong(file *filecontext.Content, lines history.Lines, limit int) string {
	number := 0
	for line := range strings.Lines(file.UnixText()) {
		number++
		if number < lines.Start || number > lines.End || tools.HasRoomForLine(file.Path, len(line), limit) || c.isShown(file, history.Lines{Start: number, End: number}) {
			continue
		}
		return fmt.Sprintf("line %d of %s, which has %d bytes, too many to be shown to you whole. Do not try to change it with this tool; tell the user.",
			number, filecontext.Printable(file.Path), len(line))
	}
	return ""
}

type writeInput struct {
	Path    string `json:"path" need:"content"`
	Content string `json:"content"`
}

const writeSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"Path of the file, relative to the workspace folder or absolute"},` +
	`"content":{"type":"string","description":"The whole text of the file"}},` +
	`"required":["path","content"],"additionalProperties":false}`

func (c changer) writeFile() tools.Tool {
	return tools.Tool{
		Definition: tools.Definition{
			Name: "write_file",
			Description: "Make a new text file in the workspace, with the folders it needs, or replace the whole text of a file whose present version " +
				"was shown to you whole. To change parts of a file, use edit_file. A replaced file keeps its encoding and line ends.",
			Schema: json.RawMessage(writeSchema),
		},
		Kind: tools.KindEdit,
		Describe: func(raw json.RawMessage) tools.Description {
			in := decoded[writeInput](raw)
			return tools.Description{Title: "Write " + titlePath(in.Path), Locations: []tools.Location{{Path: in.Path}}}
		},
		Prepare: preparing(func(ctx context.Context, in writeInput, limit int) (*tools.Prepared, error) {
			p, err := c.writer.Write(ctx, in.Path, in.Content)
			if err != nil {
				return notPlanned(ctx, in.Path, err)
			}
			if unseen := c.unseenFile(p, limit); unseen != "" {
				return tools.Refuse(tools.Failed("%s", unseen)), nil
			}
			return c.prepared(p, written, limit), nil
		}),
	}
}

// unseenFile returns that the model was not shown the whole file that a text would replace, and how to read it; "" for none.
func (c changer) unseenFile(p *Planned, limit int) string {
	if p.Before == nil || c.isShown(p.Before, wholeFile(p.Before)) {
		return ""
	}
	if tooLong := c.tooLong(p.Before, wholeFile(p.Before), limit); tooLong != "" {
		return "Nothing was changed: the file exists, with " + tooLong
	}
	return fmt.Sprintf("Nothing was changed: %s exists, and you were not shown its present version whole. Read it first with read_file, "+
		"or change parts of it with edit_file.", filecontext.Printable(p.Before.Path))
}

// wholeFile returns the lines of a whole file, the zero Lines for an empty one.
func wholeFile(c *filecontext.Content) history.Lines {
	if c.Lines == 0 {
		return history.Lines{}
	}
	return history.Lines{Start: 1, End: c.Lines}
}

type deleteInput struct {
	Path string `json:"path" need:"content"`
}

const deleteSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"Path of the file, relative to the workspace folder or absolute"}},` +
	`"required":["path"],"additionalProperties":false}`

func (c changer) deleteFile() tools.Tool {
	return tools.Tool{
		Definition: tools.Definition{
			Name:        "delete_file",
			Description: "Delete a file of the workspace. Folders and symbolic links are not deleted.",
			Schema:      json.RawMessage(deleteSchema),
		},
		Kind: tools.KindDelete,
		Describe: func(raw json.RawMessage) tools.Description {
			in := decoded[deleteInput](raw)
			return tools.Description{Title: "Delete " + titlePath(in.Path), Locations: []tools.Location{{Path: in.Path}}}
		},
		Prepare: preparing(func(ctx context.Context, in deleteInput, limit int) (*tools.Prepared, error) {
			p, err := c.writer.Delete(ctx, in.Path)
			if err != nil {
				return notPlanned(ctx, in.Path, err)
			}
			return c.prepared(p, deleted, limit), nil
		}),
	}
}

type moveInput struct {
	From string `json:"from" need:"content"`
	To   string `json:"to" need:"content"`
}

const moveSchema = `{"type":"object","properties":{` +
	`"from":{"type":"string","description":"Path of the file, relative to the workspace folder or absolute"},` +
	`"to":{"type":"string","description":"Its new path, where no file is"}},` +
	`"required":["from","to"],"additionalProperties":false}`

func (c changer) moveFile() tools.Tool {
	return tools.Tool{
		Definition: tools.Definition{
			Name: tools.MoveFile,
			Description: "Move or rename a file of the workspace, with the folders that its new path needs. It never replaces an existing file. Folders " +
				"and symbolic links are not moved.",
			Schema: json.RawMessage(moveSchema),
		},
		Kind: tools.KindMove,
		Describe: func(raw json.RawMessage) tools.Description {
			in := decoded[moveInput](raw)
			return tools.Description{Title: "Move " + titlePath(in.From) + " to " + titlePath(in.To), Locations: []tools.Location{{Path: in.From}, {Path: in.To}}}
		},
		Prepare: preparing(func(ctx context.Context, in moveInput, limit int) (*tools.Prepared, error) {
			p, err := c.writer.Move(ctx, in.From, in.To)
			if err != nil {
				return notPlanned(ctx, in.From, err)
			}
			return c.prepared(p, moved, limit), nil
		}),
	}
}

// notPlanned returns the refusal for an error of a Writer, or the error of ctx.
func notPlanned(ctx context.Context, path string, err error) (*tools.Prepared, error) {
	r, err := notChanged(ctx, path, err)
	if err != nil {
		return nil, err
	}
	return tools.Refuse(r), nil
}

// notChanged returns the result for an error of a Writer, or the error of ctx.
func notChanged(ctx context.Context, path string, err error) (tools.Result, error) {
	if ctx.Err() != nil {
		return tools.Result{}, ctx.Err()
	}
	var refusal *filecontext.RefusedError
	var edit *change.EditError
	switch {
	case errors.As(err, &refusal):
		return tools.Failed("Nothing was changed: %s", explained(refusal)), nil
	case errors.As(err, &edit):
		return tools.Failed("Nothing was changed in %s: %v", titlePath(path), err), nil
	case errors.Is(err, change.ErrNothing):
		return tools.Failed("Nothing was changed: %s is already like that.", titlePath(path)), nil
	case isOfEditor(err):
		return tools.Failed("Nothing was changed in %s: %s.", titlePath(path), words(err)), nil
	case errors.Is(err, change.ErrChanged):
		return tools.Failed("Nothing was changed: %v. Read it again, then decide.", err), nil
	}
	return tools.Failed("Nothing was changed: %v", err), nil
}
