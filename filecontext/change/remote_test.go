package change

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/filecontext/source"
)

// texts is a source of files in memory.
type texts struct {
	files map[string]string
	save  func(text string) string // what a write stores; nil: the text
	deaf  bool                     // changes have no effect
}

func (s *texts) List(context.Context) (*source.List, error) { return s.Known(), nil }

func (s *texts) Known() *source.List {
	list := new(source.List)
	for _, path := range slices.Sorted(maps.Keys(s.files)) {
		list.Files = append(list.Files, source.File{Path: path})
	}
	return list
}

func (s *texts) Read(_ context.Context, path string, _ source.Reading) (source.Text, error) {
	text, ok := s.files[path]
	if !ok {
		return source.Text{}, &filecontext.RefusedError{Path: path, Reason: filecontext.ReasonMissing}
	}
	return source.Text{Data: []byte(text)}, nil
}

func (s *texts) ReadSome(ctx context.Context, paths []string, how source.Reading) (map[string]source.Text, error) {
	all := make(map[string]source.Text)
	for _, path := range paths {
		text, err := s.Read(ctx, path, how)
		text.Err = err
		all[path] = text
	}
	return all, nil
}

func (s *texts) Write(_ context.Context, path, text string) error {
	if s.save != nil {
		text = s.save(text)
	}
	if !s.deaf {
		s.files[path] = text
	}
	return nil
}

func (s *texts) Delete(_ context.Context, path string) error {
	if !s.deaf {
		delete(s.files, path)
	}
	return nil
}

func (s *texts) Move(ctx context.Context, from, to string) error {
	text := s.files[from]
	return errors.Join(s.Delete(ctx, from), s.Write(ctx, to, text))
}

// elsewhere returns the files of a source.
func elsewhere(t *testing.T, s *texts) (Files, func(path string) filecontext.Ref) {
	t.Helper()
	roots, err := filecontext.NewRemoteRoots("/project", s, filecontext.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return Files{Roots: roots}, func(path string) filecontext.Ref {
		ref, err := roots.Locate(path)
		if err != nil {
			t.Fatal(err)
		}
		return ref
	}
}

func TestChangesOfASource(t *testing.T) {
	ctx := t.Context()
	for name, test := range map[string]struct {
		plan func(Files, func(string) filecontext.Ref) (*Plan, error)
		want map[string]string
	}{
		"edit": {func(f Files, at func(string) filecontext.Ref) (*Plan, error) {
			return f.Edit(ctx, at("a.txt"), []Edit{{OldText: "two", NewText: "2"}})
		}, map[string]string{"a.txt": "one\r\n2\r\n", "b/c.txt": "c"}},
		"create": {func(f Files, at func(string) filecontext.Ref) (*Plan, error) { return f.Write(ctx, at("d/e.txt"), "e") },
			map[string]string{"a.txt": "one\r\ntwo\r\n", "b/c.txt": "c", "d/e.txt": "e"}},
		"delete": {func(f Files, at func(string) filecontext.Ref) (*Plan, error) { return f.Delete(ctx, at("b/c.txt")) },
			map[string]string{"a.txt": "one\r\ntwo\r\n"}},
		"move": {func(f Files, at func(string) filecontext.Ref) (*Plan, error) {
			return f.Move(ctx, at("b/c.txt"), at("c.txt"))
		},
			map[string]string{"a.txt": "one\r\ntwo\r\n", "c.txt": "c"}},
		"put": {func(f Files, _ func(string) filecontext.Ref) (*Plan, error) {
			return f.Put(ctx, "/project/b/c.txt", hashOf([]byte("c")), Version{Exists: true, Bytes: []byte("before")})
		}, map[string]string{"a.txt": "one\r\ntwo\r\n", "b/c.txt": "before"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &texts{files: map[string]string{"a.txt": "one\r\ntwo\r\n", "b/c.txt": "c"}}
			files, at := elsewhere(t, s)
			plan, err := test.plan(files, at)
			if err != nil {
				t.Fatal(err)
			}
			if err := plan.Make(ctx); err != nil || plan.State(ctx) != Done || plan.Outcome() != nil {
				t.Errorf("error %v, state %s, outcome %v", err, plan.State(ctx), plan.Outcome())
			}
			if !maps.Equal(s.files, test.want) {
				t.Errorf("got %q, want %q", s.files, test.want)
			}
		})
	}
}

func TestASourceThatChangesTheText(t *testing.T) {
	s := &texts{files: map[string]string{"a": "b"}, save: func(text string) string { return text + "\n" }}
	files, at := elsewhere(t, s)
	plan, err := files.Write(t.Context(), at("a"), "c")
	if err != nil {
		t.Fatal(err)
	}
	if err := plan.Make(t.Context()); err != nil {
		t.Fatal(err)
	}
	if now := plan.Outcome(); now == nil || string(now.Bytes) != "c\n" || now.Effects[0].After != hashOf([]byte("c\n")) {
		t.Errorf("the outcome is %+v", now)
	}
}

func TestChangesOfASourceThatAreNotMade(t *testing.T) {
	ctx := t.Context()
	s := &texts{files: map[string]string{"a": "b"}}
	files, at := elsewhere(t, s)
	plan, err := files.Write(ctx, at("a"), "c")
	if err != nil {
		t.Fatal(err)
	}
	s.files["a"] = "by the user"
	if err := plan.Make(ctx); !errors.Is(err, ErrChanged) || s.files["a"] != "by the user" || plan.State(ctx) != NotDone {
		t.Errorf("changed meanwhile: %v, %q", err, s.files["a"])
	}
	s.deaf = true
	for name, plan := range map[string]func() (*Plan, error){
		"write":  func() (*Plan, error) { return files.Write(ctx, at("a"), "c") },
		"delete": func() (*Plan, error) { return files.Delete(ctx, at("a")) },
		"move":   func() (*Plan, error) { return files.Move(ctx, at("a"), at("b")) },
	} {
		p, err := plan()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Make(ctx); err == nil || !strings.Contains(err.Error(), "did not change the file") || p.State(ctx) != NotDone {
			t.Errorf("%s without effect: %v, %s", name, err, p.State(ctx))
		}
	}
}

func TestRefusedChangesOfASource(t *testing.T) {
	ctx := t.Context()
	s := &texts{files: map[string]string{"a": "b", "c/d": "e"}}
	files, at := elsewhere(t, s)
	for name, test := range map[string]struct {
		plan func() (*Plan, error)
		want filecontext.Reason
	}{
		"a file in the place of a folder": {func() (*Plan, error) { return files.Write(ctx, at("c"), "x") }, filecontext.ReasonDirectory},
		"a folder in the place of a file": {func() (*Plan, error) { return files.Write(ctx, at("a/x"), "x") }, filecontext.ReasonBadPath},
		"a move to a file":                {func() (*Plan, error) { return files.Move(ctx, at("a"), at("c/d")) }, filecontext.ReasonExists},
		"a missing file":                  {func() (*Plan, error) { return files.Delete(ctx, at("x")) }, filecontext.ReasonMissing},
	} {
		if _, err := test.plan(); filecontext.ReasonOf(err) != test.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := files.Roots.Locate("../a"); filecontext.ReasonOf(err) != filecontext.ReasonOutside {
		t.Errorf("outside: %v", err)
	}
	_, err := filecontext.Reach(ctx, files.Roots, at("a"), func(*filecontext.Reached) (struct{}, error) { return struct{}{}, nil })
	if err == nil {
		t.Error("a folder of the disk was opened")
	}
}
