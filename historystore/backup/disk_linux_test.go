package backup

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"strata/historystore/database"
	"strata/historystore/schema"
)

// The full disk is that of the backup, not that of the database.
func TestABackupOnAFullDisk(t *testing.T) {
	folder := t.TempDir()
	if err := syscall.Mount("strata-test", folder, "tmpfs", 0, "size=1m"); err != nil {
		t.Skipf("cannot mount a file system: %v", err)
	}
	defer syscall.Unmount(folder, 0)
	path := newDatabase(t, schema.Newest(), 300)
	_, err := Create(t.Context(), path, folder+"/file", Options{})
	if !errors.Is(err, database.ErrFull) || !strings.HasSuffix(err.Error(), folder) {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(folder); len(entries) != 0 || err != nil {
		t.Errorf("the folder has %v, %v", entries, err)
	}
}
