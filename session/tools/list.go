package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"strata/filecontext"
)

type listInput struct {
	Path    string `json:"path"`
	Pattern string `json:"pattern"`
}

const listSchema = `{"type":"object","properties":{` +
	`"path":{"type":"string","description":"Folder to list, relative to the workspace folder or absolute; by default the whole workspace"},` +
	`"pattern":{"type":"string","description":"Only paths that match, such as *.go, src/**/*.{ts,tsx} or !*_test.go"}},` +
	`"additionalProperties":false}`

// listFiles returns the tool list_files.
func listFiles(roots *filecontext.Roots) Tool {
	return Tool{
		Definition: Definition{
			Name: "list_files",
			Description: "List the files of the workspace, or of a folder in it, as a tree; with a pattern, as a list of paths. Files that " +
				"git ignores are not listed, unless path is the ignored folder. Folders that do not fit into 50 KB are shown closed, with the number " +
				"of files in them.",
			Schema: json.RawMessage(listSchema),
		},
		Kind: KindRead, ReadOnly: true,
		Describe: func(raw json.RawMessage) Description {
			in := decoded[listInput](raw)
			title := "List files"
			if in.Pattern != "" {
				title += " " + titlePath(in.Pattern)
			}
			if in.Path == "" {
				return Description{Title: title}
			}
			return Description{Title: title + " in " + titlePath(in.Path), Locations: []Location{{Path: in.Path}}}
		},
		Run: with(func(ctx context.Context, in listInput, limit int) (Result, error) { return in.run(ctx, roots, limit) }),
	}
}

func (in listInput) run(ctx context.Context, roots *filecontext.Roots, limit int) (Result, error) {
	pattern, err := patternOf("pattern", in.Pattern)
	if err != nil {
		return Failed("%v", err), nil
	}
	all, err := folders(ctx, roots, in.Path, false)
	if err != nil {
		return refused(ctx, in.Path, err)
	}
	var out strings.Builder
	for i := range all {
		f := &all[i]
		if f.isFile() {
			return text("%s is a file with %d bytes.", filecontext.Printable(f.ref.Path), f.files.Files[0].Size), nil
		}
		files, err := f.matching(ctx, pattern)
		if err != nil {
			return Result{}, err
		}
		f.list(&out, files, pattern != nil, (limit-out.Len())/(len(all)-i))
	}
	return text("%s", out.String()), nil
}

// patternOf returns the pattern in a member of an input, nil if it is empty.
func patternOf(member, pattern string) (*filecontext.Pattern, error) {
	if pattern == "" {
		return nil, nil
	}
	p, err := filecontext.NewPattern(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s %w", member, err)
	}
	return p, nil
}

// list writes files of the folder, as a tree or as a list of their paths, in at most limit bytes.
func (f *folder) list(out *strings.Builder, files []filecontext.Surveyed, flat bool, limit int) {
	heading := "."
	if f.ref.Path != "." {
		heading = filecontext.Printable(f.ref.Path)
	}
	heading = fmt.Sprintf("%s: %s\n", heading, number(len(files), "file"))
	end := f.omissions()
	limit -= len(heading) + len(end)
	out.WriteString(heading)
	if flat {
		list(out, files, limit)
	} else {
		out.WriteString(f.tree(files, limit))
	}
	out.WriteString(end)
}

// list writes the paths of the first files, and how many there are more.
func list(out *strings.Builder, files []filecontext.Surveyed, limit int) {
	const more = 64 // bytes of the last line
	for i, file := range files {
		line := filecontext.Printable(file.Ref.Path) + "\n"
		if limit -= len(line); limit < more {
			fmt.Fprintf(out, "[%s more; a narrower pattern or path shows them]\n", number(len(files)-i, "file"))
			return
		}
		out.WriteString(line)
	}
}
