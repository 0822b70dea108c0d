package serve

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

func TestLogFileStaysBelowItsBound(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "strata.log")
	const limit = 1000
	l, err := openLogFile(path, limit)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), 99)
	line = append(line, '\n')
	for range 55 {
		if _, err := l.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{path: 500, path + ".1": limit} {
		info, err := os.Stat(name)
		if err != nil || info.Size() != want || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
}

func TestLogFileContinues(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.log")
	for range 2 {
		l, err := openLogFile(path, 1000)
		if err != nil {
			t.Fatal(err)
		}
		l.Write([]byte("line\n"))
		l.Close()
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "line\nline\n" {
		t.Errorf("got %q, %v", data, err)
	}
}
