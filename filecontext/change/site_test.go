package change

import (
	"errors"
	"os"
	"testing"

	"strata/filecontext"
)

// An editor's text becomes bytes in the encoding and with the line ends that the file has.
func TestTheBytesOfATextThatAnEditorSaves(t *testing.T) {
	const wide = "\xff\xfea\x00\r\x00\n\x00b\x00"
	for name, tt := range map[string]struct{ disk, shown, text, want string }{
		"LF":                {"a\nb", "a\nb", "a\nc\n", "a\nc\n"},
		"CRLF":              {"a\r\nb\r\n", "a\r\nb\r\n", "a\nc\nd\n", "a\r\nc\r\nd\r\n"},
		"byte order mark":   {"\ufeffa\n", "\ufeffa\n", "\ufeffb\n", "\ufeffb\n"},
		"mark not shown":    {"\ufeffa\n", "\ufeffa\n", "b\n", "\ufeffb\n"},
		"UTF-16":            {wide, "a\r\nb", "a\nc", "\xff\xfea\x00\r\x00\n\x00c\x00"},
		"other than UTF-8":  {"gr\xfcn\n", "", "grün\n", "grün\n"},
		"empty":             {"", "", "a\r\n", "a\n"},
		"new":               {"none", "", "a\r\n", "a\r\n"},
		"bytes of anything": {"\x00", "", "a", "a"},
	} {
		d := newDesk(t, nil)
		if tt.disk != "none" {
			d.put("f", tt.disk)
		}
		s, err := d.files.Site(t.Context(), d.ref("f"))
		must(t, err)
		_, shown, err := s.Text(t.Context())
		if equal(t, name+": shown", shown, tt.shown); (err != nil) != (name == "other than UTF-8" || name == "bytes of anything") {
			t.Errorf("%s: %v", name, err)
		}
		saved := s.Saved(tt.text)
		equal(t, name+": saved", string(saved), tt.want)
		d.put("f", tt.want)
		again, err := s.Again(t.Context())
		must(t, err)
		equal(t, name+": effect", s.Effect(s.Bytes, again.Bytes), Effect{Path: "f", File: d.path("f"), Before: s.Hash(), After: hashOf(saved)})
		if again.Is(s) || !again.Is(again) {
			t.Errorf("%s: the file is as before", name)
		}
	}
}

func TestASiteIsCheckedBeforeAnEditorWrites(t *testing.T) {
	d := newDesk(t, map[string]string{"dir/a.txt": "a\n"})
	for _, path := range []string{"dir/a.txt", "dir/new.txt", "more/new.txt"} {
		s, err := d.files.Site(t.Context(), d.ref(path))
		must(t, err)
		must(t, s.Check(t.Context()))
		d.put(path, "else\n")
		if err := s.Check(t.Context()); !errors.Is(err, ErrChanged) {
			t.Errorf("%s: %v", path, err)
		}
	}
	s, err := d.files.Site(t.Context(), d.ref("dir/a.txt"))
	must(t, err)
	must(t, os.Chmod(d.path("dir/a.txt"), 0o400))
	wantReason(t, "read-only", s.Check(t.Context()), filecontext.ReasonReadOnly)
	_, err = d.files.Site(t.Context(), d.ref("dir/a.txt"))
	wantReason(t, "read-only", err, filecontext.ReasonReadOnly)
	if again, err := s.Again(t.Context()); err != nil || !again.Is(s) {
		t.Errorf("%v", err)
	}
	d.put("own/x", "x")
	for path, want := range map[string]filecontext.Reason{
		"own/x": filecontext.ReasonOwn, "own/new": filecontext.ReasonOwn, ".env": filecontext.ReasonSecret, "dir": filecontext.ReasonDirectory,
	} {
		_, err := d.files.Site(t.Context(), d.ref(path))
		wantReason(t, path, err, want)
	}
}

func TestADraftIsADecodableText(t *testing.T) {
	d := newDesk(t, map[string]string{"a.txt": "disk\n"})
	s, err := d.files.Site(t.Context(), d.ref("a.txt"))
	must(t, err)
	replace := func(old, text string) func(*Text) (Text, []filecontext.Range, error) {
		return func(before *Text) (Text, []filecontext.Range, error) {
			return before.Edited([]Edit{{OldText: old, NewText: text}})
		}
	}
	draft, err := s.Draft(t.Context(), "\ufeffone\r\ntwo\r\n", replace("two", "2\n3"))
	must(t, err)
	equal(t, "text", draft.Text, "\ufeffone\r\n2\r\n3\r\n")
	equal(t, "covered", draft.Covered, []filecontext.Range{{Start: 2, End: 2}})
	if draft.After.Lines != 3 || draft.After.Path != "a.txt" {
		t.Errorf("%+v", draft.After)
	}
	_, err = s.Draft(t.Context(), "a\n", replace("a", "\x00"))
	wantReason(t, "binary", err, filecontext.ReasonBinary)
	_, err = s.Draft(t.Context(), "\xff", replace("a", "b"))
	wantReason(t, "encoding", err, filecontext.ReasonEncoding)
	var edit *EditError
	if _, err = s.Draft(t.Context(), "a\n", replace("x", "b")); !errors.As(err, &edit) {
		t.Errorf("%v", err)
	}
}
