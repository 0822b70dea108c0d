//go:build unix

package backup

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"strata/historystore/database"
	"strata/historystore/schema"
)

// Nothing waits for the other end of a named pipe.
func TestANamedPipe(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	path := newDatabase(t, schema.Newest(), 1)
	_, version := VersionOf(t.Context(), pipe)
	_, source := Create(t.Context(), pipe, filepath.Join(t.TempDir(), "file"), Options{})
	_, target := Create(t.Context(), path, pipe, Options{Replace: true})
	_, restored := Restore(t.Context(), pipe, path, nil)
	for name, err := range map[string]error{
		"version": version, "source": source, "target": target, "restore": restored, "check": database.Check(t.Context(), pipe),
	} {
		if err == nil || !strings.Contains(err.Error(), "file") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
