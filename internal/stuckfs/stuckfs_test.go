//go:build linux

package stuckfs

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The disk is a real one: what can be read is read, the rest waits until the disk is unmounted.
func TestADiskThatDoesNotRespond(t *testing.T) {
	d := Mount(t)
	entries, err := os.ReadDir(d.Folder)
	if err != nil || len(entries) != 4 {
		t.Fatalf("%v, %v", entries, err)
	}
	if text, err := os.ReadFile(filepath.Join(d.Folder, Good)); err != nil || string(text) != Text {
		t.Fatalf("%q, %v", text, err)
	}
	returned := make(chan error, 3)
	go func() { _, err := os.ReadFile(filepath.Join(d.Folder, Stuck)); returned <- err }()
	go func() { _, err := os.Stat(filepath.Join(d.Folder, Deaf)); returned <- err }()
	go func() { _, err := os.ReadDir(filepath.Join(d.Folder, Hung)); returned <- err }()
	for d.Unanswered() < 3 {
		time.Sleep(time.Millisecond)
	}
	select {
	case err := <-returned:
		t.Fatalf("a call returned: %v", err)
	default:
	}
	d.Abort()
	for range 3 {
		if err := <-returned; err == nil {
			t.Error("a call returned without an error")
		}
	}
}
