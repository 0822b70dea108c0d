package filecontext

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		name, data, text string
		reason           Reason
	}{
		{"empty", "", "", ""},
		{"text", "a\nb\n", "a\nb\n", ""},
		{"CRLF", "a\r\nb\r\n", "a\r\nb\r\n", ""},
		{"UTF-8 with mark", "\xef\xbb\xbfä", "ä", ""},
		{"UTF-16 little endian", "\xff\xfeh\x00\xe4\x00\x3d\xd8\x00\xde", "hä😀", ""},
		{"UTF-16 big endian", "\xfe\xff\x00h\x00\xe4", "hä", ""},
		{"a mark alone", "\xff\xfe", "", ""},
		{"JSON", `{"a":1}`, `{"a":1}`, ""},
		{"script", "#!/bin/sh\nls\n", "#!/bin/sh\nls\n", ""},
		{"text like an image", "BM25 is a ranking function", "BM25 is a ranking function", ""},
		{"half a UTF-16 character", "\xff\xfeh\x00\x3d\xd8", "", ReasonEncoding},
		{"odd UTF-16", "\xff\xfeh", "", ReasonEncoding},
		{"UTF-32", "\xff\xfe\x00\x00h\x00\x00\x00", "", ReasonBinary},
		{"Latin-1 for the most part", "\xe4\xf6\xfc ok", "", ReasonEncoding},
		{"NUL", "a\x00b", "", ReasonBinary},
		{"NUL after the sniffed part", strings.Repeat("a", 10_000) + "\x00", "", ReasonBinary},
		{"PDF", "%PDF-1.4\n", "", ReasonBinary},
	}
	for _, tt := range tests {
		text, lossy, err := decode("f", []byte(tt.data))
		wantReason(t, tt.name, err, tt.reason)
		if err == nil && (text != tt.text || lossy) {
			t.Errorf("%s: decoded %q, lossy %v, want %q", tt.name, text, lossy, tt.text)
		}
	}
}

// Text with some bytes that are not text is shown with U+FFFD for each of them; U+FFFD in a file is a character like others.
func TestF41BytesThatAreNotText(t *testing.T) {
	wide := "\xff\xfe" + strings.Repeat("h\x00", 1000)
	for _, tt := range []struct {
		name, data, text string
		lossy            bool
	}{
		{"one Latin-1 byte", "caf\xe9 au lait\n", "caf\ufffd au lait\n", true},
		{"two together", "gr\xfc\xdfe", "gr\ufffd\ufffde", true},
		{"after a mark", "\xef\xbb\xbfcaf\xe9", "caf\ufffd", true},
		{"half a character at the end", "caf\xc3", "caf\ufffd", true},
		{"a surrogate", "a\xed\xa0\x80bcd", "a\ufffd\ufffd\ufffdbcd", true},
		{"half a UTF-16 character", wide + "\x3d\xd8", strings.Repeat("h", 1000) + "\ufffd", true},
		{"half a unit of UTF-16", wide + "h", strings.Repeat("h", 1000) + "\ufffd", true},
		{"U+FFFD", "a\ufffd", "a\ufffd", false},
		{"U+FFFD in UTF-16", "\xff\xfe\xfd\xff", "\ufffd", false},
		{"U+FFFD in big endian UTF-16", "\xfe\xff\xff\xfd", "\ufffd", false},
	} {
		text, lossy, err := decode("f", []byte(tt.data))
		if err != nil || text != tt.text || lossy != tt.lossy {
			t.Errorf("%s: decoded %q, lossy %v, %v", tt.name, text, lossy, err)
		}
	}
	for name, data := range map[string]string{
		"binary that begins like UTF-16": "\xff\xfe" + strings.Repeat("\x41\xd8\x42\x43", 100),
		"Shift JIS":                      "\x93\xfa\x96\x7b\x8c\xea\n",
	} {
		_, _, err := decode("f", []byte(data))
		wantReason(t, name, err, ReasonEncoding)
	}
}

// A file that is not shown as it is says so, and may not be patched, whatever was sent; when it is saved as UTF-8 it may.
func TestF41AFileWithU_FFFDIsNotWrittenBack(t *testing.T) {
	cwd := workspace(t, map[string]string{"f": "ok\ncaf\xe9\n"})
	r, f := openRoots(t, cwd), New()
	put(t, f, load(t, r, "f"), AddOptions{})
	check := func(when, want string) {
		t.Helper()
		e, _ := f.Get("f")
		f.MarkSent("f", e.Hash, true)
		if got := fmt.Sprint(f.CheckEdit("f", "")); got != want {
			t.Errorf("%s: %s, want %s", when, got, want)
		}
	}
	const refused = "edit of f refused: encoding; the file contains bytes that are not UTF-8, which an edit would lose; convert it first"
	check("read", refused)
	e, _ := f.Get("f")
	if got, want := e.Render(), "f (bytes that are not UTF-8 are shown as U+FFFD; the file cannot be edited)\n```\nok\ncaf\ufffd\n```\n"; got != want {
		t.Errorf("rendered %q, want %q", got, want)
	}
	f, err := Restore(stored(f))
	must(t, err)
	wantReported(t, r, f)
	check("after a restart", refused)
	ref, err := r.Locate("f")
	must(t, err)
	if c, saved, err := r.Buffer(t.Context(), ref, "ok\ncaf\ufffd\n"); err != nil || !saved || !c.Lossy {
		t.Errorf("the shown text from the client: %+v, saved %v, %v", c, saved, err)
	}
	write(t, filepath.Join(cwd, "f"), "ok\ncafé\n")
	wantReported(t, r, f, "changed f")
	check("converted", "<nil>")
	write(t, filepath.Join(cwd, "f"), "ok\ncaf\xe9\n")
	wantReported(t, r, f, "changed f")
	check("and back", refused)
}

func FuzzDecode(f *testing.F) {
	for _, data := range []string{"a\n", "\xff\xfea\x00", "\xfe\xff\x00a", "\xef\xbb\xbf", "\x89PNG\r\n\x1a\n", "PK\x03\x04\x00"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		text, _, err := decode("f", data)
		if err == nil && (!utf8.ValidString(text) || strings.ContainsRune(text, 0)) {
			t.Errorf("%q is the text %q", data, text)
		}
	})
}

// K5-05: a file that is not text is refused with its kind, and a file that is too large is not read.
func TestK5_05_BinariesAndSizes(t *testing.T) {
	cwd := workspace(t, map[string]string{
		"table.ods": "PK\x03\x04\x14\x00\x00\x08\x00\x00mimetypeapplication/vnd.oasis.opendocument.spreadsheet",
		"notes.txt": "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
		"program":   "\x7fELF\x02\x01\x01\x00",
		"utf16.txt": "\xff\xfeo\x00k\x00",
		"empty":     "",
		"sparse":    "",
		"fits":      strings.Repeat("a", DefaultFileBytes),
		"over":      strings.Repeat("a", DefaultFileBytes+1),
	})
	must(t, os.Truncate(filepath.Join(cwd, "sparse"), 2<<30))
	must(t, os.Mkdir(filepath.Join(cwd, "folder"), 0o700))
	r := openRoots(t, cwd)
	for path, reason := range map[string]Reason{
		"table.ods": ReasonBinary, "notes.txt": ReasonBinary, "program": ReasonBinary,
		"sparse": ReasonTooLarge, "over": ReasonTooLarge, "folder": ReasonDirectory, ".": ReasonDirectory,
		"utf16.txt": "", "empty": "", "fits": "",
	} {
		_, err := read(t, r, path)
		wantReason(t, path, err, reason)
	}
	_, err := read(t, r, "notes.txt")
	if !strings.Contains(err.Error(), "image/png") {
		t.Errorf("the refusal does not name the kind: %v", err)
	}
	if c := load(t, r, "utf16.txt"); c.Text != "ok" || c.Size != 6 {
		t.Errorf("UTF-16 was read as %+v", c)
	}
}

func TestAFileThatGrowsWhileItIsReadIsRefused(t *testing.T) {
	cwd := workspace(t, map[string]string{"log": "0123456789"})
	file, err := os.Open(filepath.Join(cwd, "log"))
	must(t, err)
	defer file.Close()
	write(t, filepath.Join(cwd, "log"), "0123456789ab")
	_, err = readAll(file, Ref{Path: "log"}, 10)
	wantReason(t, "log", err, ReasonTooLarge)
}

func TestHashIsThatOfTheBytesOnDisk(t *testing.T) {
	data := "\xef\xbb\xbfa\r\n"
	c := load(t, openRoots(t, workspace(t, map[string]string{"a": data})), "a")
	sum := sha256.Sum256([]byte(data))
	if c.Hash != hex.EncodeToString(sum[:]) || c.Text != "a\r\n" || c.Lines != 1 {
		t.Errorf("read %+v", c)
	}
}

func TestReadEndsWithItsContext(t *testing.T) {
	r := openRoots(t, workspace(t, map[string]string{"a": ""}))
	ref, err := r.Locate("a")
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.Read(ctx, ref); !errors.Is(err, context.Canceled) {
		t.Errorf("Read: %v", err)
	}
}

func TestBufferAcceptsValidFileContent(t *testing.T) {
	r := openRoots(t, workspace(t, nil))
	ref, err := r.Locate("a")
	must(t, err)
	for text, reason := range map[string]Reason{
		"fine": "", "": "", "a\x00b": ReasonBinary, "a\xff": ReasonEncoding,
		strings.Repeat("a", DefaultFileBytes+1): ReasonTooLarge,
	} {
		_, _, err := r.Buffer(context.Background(), ref, text)
		wantReason(t, shorten(text), err, reason)
	}
}

// foldingDisk is a file system that ignores case.
type foldingDisk struct {
	fs.FS
}

func (d foldingDisk) Open(name string) (fs.File, error) { return d.FS.Open(strings.ToLower(name)) }

func TestFoldsCase(t *testing.T) {
	cwd := workspace(t, map[string]string{"src/a.go": "", "123": "", "hard/b": ""})
	must(t, os.Link(filepath.Join(cwd, "hard/b"), filepath.Join(cwd, "hard/B")))
	sensitive := os.DirFS(cwd)
	tests := []struct {
		disk fs.FS
		name string
		want bool
	}{
		{foldingDisk{sensitive}, "src/a.go", true},
		{foldingDisk{sensitive}, "Src/A.go", true},
		{foldingDisk{sensitive}, "123", false}, // no letters
		{sensitive, "src/a.go", false},
		{sensitive, "missing", false},
		{fstest.MapFS{"A": {}, "a": {}}, "a", false},
	}
	for _, tt := range tests {
		if got := foldsCase(tt.disk, tt.name); got != tt.want {
			t.Errorf("foldsCase(%T, %q) = %v", tt.disk, tt.name, got)
		}
	}
	hard, err := fs.Sub(sensitive, "hard")
	must(t, err)
	if foldsCase(hard, "b") {
		t.Error("a hard link was taken for another spelling")
	}
}

func TestHardLinksAreTwoFiles(t *testing.T) {
	cwd := workspace(t, map[string]string{"a.txt": "same"})
	must(t, os.Link(filepath.Join(cwd, "a.txt"), filepath.Join(cwd, "A.txt")))
	must(t, os.Link(filepath.Join(cwd, "a.txt"), filepath.Join(cwd, "A.TXT")))
	r, f := openRoots(t, cwd), New()
	for _, path := range []string{"a.txt", "A.txt", "A.TXT"} {
		put(t, f, load(t, r, path), AddOptions{})
	}
	if n := len(f.List()); n != 3 {
		t.Errorf("three links are %d files", n)
	}
}

func BenchmarkRead(b *testing.B) {
	r := openRoots(b, workspace(b, map[string]string{"a": string(bytes.Repeat([]byte("some text\n"), 5000))}))
	ref, err := r.Locate("a")
	must(b, err)
	for b.Loop() {
		if _, err := r.Read(b.Context(), ref); err != nil {
			b.Fatal(err)
		}
	}
}
