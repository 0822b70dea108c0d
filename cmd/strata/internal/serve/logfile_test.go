package serve

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"strata/cmd/strata/internal/config"
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

// The limit counts what was in the file before, and an empty file is not kept aside for a line that is too long.
func TestLogFileCountsWhatItHas(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.log")
	write := func(n int) {
		t.Helper()
		l, err := openLogFile(path, 1000)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Write(bytes.Repeat([]byte("x"), n)); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	size := func(name string) int64 {
		info, err := os.Stat(name)
		if err != nil {
			return -1
		}
		return info.Size()
	}
	for _, tt := range []struct {
		n             int
		now, previous int64
	}{{1500, 1500, -1}, {900, 900, 1500}, {100, 1000, 1500}, {1, 1, 1000}} {
		if write(tt.n); size(path) != tt.now || size(path+".1") != tt.previous {
			t.Errorf("after %d bytes: %d, before that %d, want %d and %d", tt.n, size(path), size(path+".1"), tt.now, tt.previous)
		}
	}
}

// --verbose shows more than is configured.
func TestVerboseLogsShowEverything(t *testing.T) {
	c := config.Default()
	c.Log.Level = "warn"
	for verbose, want := range map[bool]bool{false: false, true: true} {
		var out bytes.Buffer
		log, closer, err := newLog(c, &out, verbose)
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("detail")
		if err := closer.Close(); err != nil || (out.Len() > 0) != want {
			t.Errorf("verbose %t: %q, %v", verbose, out.String(), err)
		}
	}
}
