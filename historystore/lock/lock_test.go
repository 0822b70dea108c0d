package lock

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

func TestOneHolderAtATime(t *testing.T) {
	database := filepath.Join(t.TempDir(), "strata.db")
	if pid, held := Holder(database); held || pid != 0 {
		t.Fatalf("held by %d before the first lock", pid)
	}
	for range 2 { // the file remains, and can be locked again
		first, err := Acquire(database)
		if err != nil {
			t.Fatal(err)
		}
		if pid, held := Holder(database); !held || pid != os.Getpid() {
			t.Errorf("held %t by %d, want by %d", held, pid, os.Getpid())
		}
		if _, err := Acquire(database); !errors.Is(err, ErrLocked) {
			t.Errorf("the second lock: %v", err)
		}
		if err := first.Release(); err != nil {
			t.Fatal(err)
		}
		if pid, held := Holder(database); held {
			t.Errorf("held by %d after the release", pid)
		}
	}
}
