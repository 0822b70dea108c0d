//go:build unix

package tools

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

func TestPipesAndFilesWithoutPermissionAreNotRead(t *testing.T) {
	folder := folderOf(t, map[string]string{"a.go": "needle\n", "locked.go": "needle\n"})
	must(t, syscall.Mkfifo(filepath.Join(folder, "pipe"), 0o600))
	must(t, os.Symlink("pipe", filepath.Join(folder, "link.png")))
	w := workspaceOf(t, folder)
	for _, name := range []string{"read_file", "search", "list_files"} {
		input := members{"path": "pipe"}
		if name == "search" {
			input["pattern"] = "needle"
		}
		equal(t, name, complained(t, w, name, input), "pipe is not a regular file")
	}
	equal(t, "a picture", complained(t, w, "read_file", members{"path": "link.png"}), "link.png is not a regular file")
	equal(t, "list", said(t, w, "list_files", members{}), ".: 2 files\na.go\nlocked.go\n")
	if os.Getuid() == 0 {
		return // permissions are not enforced
	}
	must(t, os.Chmod(filepath.Join(folder, "locked.go"), 0))
	equal(t, "read", complained(t, w, "read_file", members{"path": "locked.go"}), "locked.go cannot be read")
	equal(t, "search", said(t, w, "search", members{"pattern": "needle"}),
		"1 matching line in 1 file of 1 file searched\n\na.go\n1: needle\n[1 file skipped that cannot be read]\n")
}
