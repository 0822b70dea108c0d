package text

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// The limits of the list of names.
const (
	MaxNames     = 5_000 // names in the list
	namesInMany  = 12    // names of a folder if not all fit
	maxLineBytes = 4_000 // of names of a folder
)

// Names lists files by name, grouped by folder, within a number of tokens. If they do not fit, it lists fewer names of
// each folder and counts the others, then only counts the files of each folder, then of each folder at the top, then
// all; if that does not fit either, it is "". The paths must be sorted.
func Names(paths []string, room int, count func(string) int) string {
	if len(paths) == 0 {
		return ""
	}
	for _, l := range []list{{names: MaxNames}, {names: namesInMany}, {}, {top: true}} {
		text, ok := l.render(paths, 16*room)
		if ok && count(text) <= room {
			return text
		}
	}
	if text := fmt.Sprintf("%s by name only.\n", files(len(paths), "other ")); count(text) <= room {
		return text
	}
	return ""
}

// A list is a way to list files.
type list struct {
	names int  // of each folder
	top   bool // only folders at the top, with all in them
}

// folder has files with their names.
type folder struct {
	path  string
	names []string
	count int // of all files
	bytes int // of the names
}

// render returns the list, or false if it is longer than a number of bytes or has more than MaxNames names.
func (l list) render(paths []string, limit int) (string, bool) {
	var b strings.Builder
	b.WriteString("Other files, by name only:\n")
	names := 0
	for _, f := range l.folders(paths) {
		names += len(f.names)
		b.WriteString(" " + f.line() + "\n")
		if b.Len() > limit || names > MaxNames {
			return "", false
		}
	}
	return b.String(), true
}

// folders groups paths, in the order of their first file.
func (l list) folders(paths []string) []*folder {
	var folders []*folder
	at := make(map[string]*folder)
	for _, p := range paths {
		dir, top := path.Dir(p), false
		if first, _, within := strings.Cut(p, "/"); l.top && within {
			dir, top = first, true
		}
		f := at[dir]
		if f == nil {
			f = &folder{path: dir}
			at[dir] = f
			folders = append(folders, f)
		}
		f.count++
		if name := quotedName(path.Base(p)); !top && len(f.names) < l.names && f.bytes+len(name) <= maxLineBytes {
			f.names = append(f.names, name)
			f.bytes += len(name)
		}
	}
	return folders
}

// line returns the folder with its names and the number of others.
func (f *folder) line() string {
	name := "./"
	if f.path != "." {
		name = quoted(f.path + "/")
	}
	if len(f.names) == 0 {
		return name + " " + files(f.count, "")
	}
	text := name + " " + strings.Join(f.names, " ")
	if others := f.count - len(f.names); others > 0 {
		text += fmt.Sprintf(" (+%d)", others)
	}
	return text
}

// quotedName returns a name, in quotes if it has a space.
func quotedName(name string) string {
	if strings.Contains(name, " ") {
		return strconv.Quote(name)
	}
	return quoted(name)
}

// files returns a number of files.
func files(n int, which string) string {
	if n == 1 {
		return "1 " + which + "file"
	}
	return fmt.Sprintf("%d %sfiles", n, which)
}
