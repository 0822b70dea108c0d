//go:build unix

package config

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestAPipeAsWorkspaceFileDoesNotHang(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mkfifo(filepath.Join(folder, WorkspaceFile), 0o600); err != nil {
		t.Skip(err)
	}
	if _, err := Default().ForWorkspace(folder, os.OpenRoot); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("got %v", err)
	}
}
