package sessions

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// A page of an import ends before the line that would exceed its size, and after so many lines. A line that is larger than
// a page is sent alone.
func TestPagesOfAnImport(t *testing.T) {
	for name, tt := range map[string]struct {
		lines, bytes, next int
		full               bool
	}{
		"empty":                  {0, 0, 10, false},
		"a huge line alone":      {0, 0, maxPageBytes + 1, false},
		"a line that just fits":  {3, maxPageBytes - 10, 10, false},
		"a line that is too big": {3, maxPageBytes - 10, 11, true},
		"one line left":          {maxPageLines - 1, 0, 10, false},
		"no line left":           {maxPageLines, 0, 10, true},
	} {
		in := importer{lines: make([]json.RawMessage, tt.lines), bytes: tt.bytes}
		if in.full(tt.next) != tt.full {
			t.Errorf("%s: full %t", name, !tt.full)
		}
	}
}

// An import counts the messages that it reads, to compare them with those that the header announces.
func TestMessagesOfAnImportAreCounted(t *testing.T) {
	var in importer
	for _, line := range []string{`{"type":"header","header":{"session":{"messages":3}}}`, `{"type":"message"}`, `{"type":"edit"}`, `{"type":"message"}`, `[]`} {
		in.count([]byte(line))
	}
	if in.promised != 3 || in.messages != 2 {
		t.Errorf("%d messages of %d", in.messages, in.promised)
	}
}

// An export that fails leaves what was there before, and no other file.
func TestAnExportReplacesItsFileWhole(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "out.jsonl")
	put := func(text string, fail error) error {
		return writeWhole(path, func(w io.Writer) error {
			_, err := io.WriteString(w, text)
			return errors.Join(err, fail)
		})
	}
	if err := put("first\n", nil); err != nil {
		t.Fatal(err)
	}
	broken := errors.New("connection lost")
	if err := put("half", broken); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	want := func(text string) {
		t.Helper()
		data, err := os.ReadFile(path)
		entries, _ := os.ReadDir(folder)
		if err != nil || string(data) != text || len(entries) != 1 {
			t.Errorf("%q in %d files, %v", data, len(entries), err)
		}
	}
	want("first\n")
	if err := put("second\n", nil); err != nil {
		t.Fatal(err)
	}
	want("second\n")
	if err := writeWhole(folder, func(io.Writer) error { return nil }); err == nil {
		t.Error("a folder is replaced")
	}
}

// A device is written into, not replaced by a file.
func TestAnExportIntoADevice(t *testing.T) {
	before, err := os.Stat(os.DevNull)
	if err != nil {
		t.Skip(err)
	}
	if err := writeInto(os.DevNull, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), "device")
	if err := os.Symlink(os.DevNull, link); err != nil {
		t.Skip(err)
	}
	if err := writeWhole(link, func(w io.Writer) error { _, err := io.WriteString(w, "x"); return err }); err != nil {
		t.Fatal(err)
	}
	if after, err := os.Stat(link); err != nil || !os.SameFile(before, after) {
		t.Errorf("the device was replaced by %v, %v", after, err)
	}
}
