package upgrade

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// A program on the search path whose child keeps the output open holds up no comparison.
func TestAProgramThatLeavesAChildIsNotAwaited(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "strata"), []byte("#!/bin/sh\n/bin/sleep 20 &\necho strata 9.9.9\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder)
	done := make(chan report, 1)
	go func() {
		var r report
		r.lookPath(t.Context())
		done <- r
	}()
	select {
	case r := <-done:
		if r.OnPath == nil || r.OnPath.Path != filepath.Join(folder, "strata") {
			t.Errorf("on the path: %+v", r.OnPath)
		}
	case <-time.After(15 * time.Second): // before the child ends
		t.Fatal("the comparison waits for the child")
	}
}
