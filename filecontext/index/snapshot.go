package index

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"strata/filecontext"
	"strata/filecontext/outline"
	"strata/internal/plural"
)

// State tells what the index has of a file.
type State string

// The states.
const (
	Pending  State = "pending"   // not read yet
	Outlined State = "outlined"  // has an outline
	NameOnly State = "name_only" // listed by name; Reason tells why unless it is no source file
)

// Reason is the reason for which a source file has no outline.
type Reason string

// The reasons of the index. The others are those of filecontext, such as secret, too_large and binary.
const (
	ReasonNoRoom      = Reason(filecontext.ReasonFull) // exceeds a limit of the whole index
	ReasonSlow        = Reason("slow")                 // parsing exceeded its time
	ReasonFailed      = Reason("failed")               // could not be parsed
	ReasonUnsupported = Reason("unsupported")          // this system cannot run the parser
)

// File is a file of the workspace.
type File struct {
	Path     string // relative to the folder, with forward slashes
	Size     int64  // in bytes
	Language string // empty if it is in none of the languages with outlines
	Hash     string // SHA-256 of its bytes in hex; empty if it was not read
	State    State
	Reason   Reason
}

// Status is the state of an index.
type Status struct {
	Complete bool   // the last sweep has ended, and all files that can be outlined are
	Problem  string // of the last sweep: the folder could not be opened; the files are those known before

	Files    int // listed
	Outlined int
	Pending  int
	Parsed   int            // parses since the start of the index
	NameOnly map[Reason]int // source files listed by name only
	Bytes    int            // of the outlines in memory

	Excess, Nameless, Unreadable, TooDeep int // files and folders not listed; see filecontext.Survey
	Cut                                   bool

	// Structure changes when the set of files changes, and only then.
	Structure uint64

	fileLimit int
}

// Omissions returns what is missing in the index, one fact each.
func (s *Status) Omissions() []string {
	var out []string
	add := func(n int, noun, format string, args ...any) {
		if n > 0 {
			out = append(out, plural.Of(n, noun)+" "+fmt.Sprintf(format, args...))
		}
	}
	add(s.Excess, "file", "beyond the limit of %d", s.fileLimit)
	add(s.Nameless, "file", "with a name that is not valid UTF-8 or too long")
	add(s.Unreadable, "path", "that cannot be read")
	add(s.TooDeep, "folder", "nested too deeply")
	if s.Cut {
		out = append(out, "folders not visited because the workspace has too many entries")
	}
	for _, reason := range sortedReasons(s.NameOnly) {
		add(s.NameOnly[reason], "source file", "listed by name only: %s", reason)
	}
	return out
}

func sortedReasons(counts map[Reason]int) []Reason {
	var all []Reason
	for reason := range counts {
		all = append(all, reason)
	}
	slices.Sort(all)
	return all
}

// record is one version of a file. It is immutable.
type record struct {
	path     string
	language string
	size     int64
	stamp    filecontext.Stamp // of the version that was read, else of the listed one
	hash     digest            // if read
	read     bool
	state    State
	reason   Reason
	outline  string // encoded; empty unless outlined
}

func (r *record) file() File {
	f := File{Path: r.path, Size: r.size, Language: r.language, State: r.state, Reason: r.reason}
	if r.read {
		f.Hash = r.hash.String()
	}
	return f
}

// decoded returns the outline, nil if the file has none.
func (r *record) decoded() *outline.Outline {
	if r.state != Outlined {
		return nil
	}
	o, err := decode(r.outline)
	if err != nil {
		panic(err) // it was encoded or checked by this process
	}
	return o
}

// extent tells how much of a file, or of all files, has changed. A larger one includes the smaller ones.
type extent int

const (
	unchanged      extent = iota
	stampChanged          // written with the same content, or only now old enough to be identified by its stamp
	contentChanged        // without effect on the outline
	stateChanged
	outlineChanged // or the path, or a go.mod file
)

// since returns how much has changed between two records; nil means none.
func (r *record) since(before *record) extent {
	switch {
	case r == before:
		return unchanged
	case r == nil || before == nil || r.path != before.path || r.outline != before.outline:
		return outlineChanged
	case r.state != before.state || r.reason != before.reason:
		return stateChanged
	case r.size != before.size || r.hash != before.hash || r.read != before.read:
		return contentChanged
	case r.stamp != before.stamp:
		return stampChanged
	}
	return unchanged
}

// snapshot is the state of an index at one moment. It is immutable.
type snapshot struct {
	files   []*record // sorted by path
	goMods  map[string]string
	status  Status
	recent  string // path of the outlined file that was modified last
	version uint64
	graph   *lazyGraph // shared by snapshots with the same paths, outlines and go.mod files
}

// since returns how much has changed between the files of two snapshots.
func (s *snapshot) since(before *snapshot) extent {
	if len(s.files) != len(before.files) || !maps.Equal(s.goMods, before.goMods) {
		return outlineChanged
	}
	all := unchanged
	for at, r := range s.files {
		all = max(all, r.since(before.files[at]))
	}
	return all
}

// differs reports whether callers can see a difference to the files or the status of another snapshot.
func (s *snapshot) differs(before *snapshot) bool {
	return s != before && (s.since(before) >= contentChanged || !reflect.DeepEqual(s.status, before.status))
}

// after returns s as the successor of a snapshot, with which it shares what has not changed: the whole if it is equal.
func (s *snapshot) after(before *snapshot) *snapshot {
	change := s.since(before)
	if change == unchanged && reflect.DeepEqual(s.status, before.status) {
		return before
	}
	s.version, s.graph = before.version, before.graph
	if change >= stateChanged {
		s.version++
	}
	if change >= outlineChanged {
		s.graph = new(lazyGraph)
	}
	return s
}

func (s *snapshot) find(path string) *record {
	at, found := slices.BinarySearchFunc(s.files, path, func(r *record, path string) int { return strings.Compare(r.path, path) })
	if !found {
		return nil
	}
	return s.files[at]
}

// count sets what follows from the files: figures of the status, and the recent file.
func (s *snapshot) count() {
	var latest time.Time
	st := &s.status
	st.Files, st.Outlined, st.Pending, st.Bytes, st.NameOnly = len(s.files), 0, 0, 0, make(map[Reason]int)
	for _, f := range s.files {
		switch {
		case f.state == Outlined:
			st.Outlined++
			st.Bytes += len(f.outline)
			if modified := f.stamp.Modified(); s.recent == "" || modified.After(latest) {
				s.recent, latest = f.path, modified
			}
		case f.state == Pending:
			st.Pending++
		case f.reason != "":
			st.NameOnly[f.reason]++
		}
	}
}

// Status returns the present state.
func (i *Index) Status() Status { return i.now().status }

// Version returns a number that changes when the path, the state, the reason or the outline of any file changes, or the
// text of a go.mod file, and only then. A caller that reads Version before it reads the files can keep what it derived from
// them until Version changes. Numbers of different indexes are unrelated.
func (i *Index) Version() uint64 { return i.now().version }

// Recent returns the path of the file with an outline that was modified last, the first one by path if there are several;
// "" if there is none. It can change without another Version: a file can be written with the same content.
func (i *Index) Recent() string { return i.now().recent }

// Files returns the files known so far, sorted by path.
func (i *Index) Files() []File {
	s := i.now()
	files := make([]File, len(s.files))
	for at, r := range s.files {
		files[at] = r.file()
	}
	return files
}

// Outline returns a file and its outline. The outline is nil unless the state is Outlined. It returns false for a path
// that is not in the index.
func (i *Index) Outline(path string) (File, *outline.Outline, bool) {
	r := i.now().find(path)
	if r == nil {
		return File{}, nil, false
	}
	return r.file(), r.decoded(), true
}
