//go:build unix

package commands

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestFolderDoesNotWaitForPipes(t *testing.T) {
	for name, pipe := range map[string]string{"a command": ".strata/commands/fix.md", "the folder": ".strata/commands"} {
		root := t.TempDir()
		path := filepath.Join(root, pipe)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip(err)
		}
		if names, _ := read(t, root, nil); len(names) > 0 {
			t.Errorf("%s: got %q", name, names)
		}
	}
}
