package binary

import (
	"bytes"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// maxSize is how large the stripped binary may be, in bytes.
const maxSize = 34_000_000

func TestBinaryIsSmall(t *testing.T) {
	skipWithDetector(t)
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(content) > maxSize {
		t.Errorf("the binary has %d bytes, more than %d: docs/dependencies.md lists the cost of each module", len(content), maxSize)
	}
	// The linker keeps every exported method of the program for a template, which may name any of them: 2 MB.
	// Functions have their names in a stripped binary too.
	if name := []byte("text/template.(*state)"); bytes.Contains(content, name) {
		t.Errorf("the binary has %s: something executes a template", name)
	}
	if name := []byte("net/http.(*Server).Serve"); !bytes.Contains(content, name) {
		t.Errorf("the binary does not have %s: this test cannot see names any more", name)
	}
}

// What packages may allocate before main, in bytes: each command pays for it, and each editor's `strata stdio`.
const (
	maxInitOfOurs = 40_000
	maxInit       = 420_000
)

var initLine = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes, \d+ allocs$`)

func TestStartAllocatesLittle(t *testing.T) {
	skipWithDetector(t)
	cmd := NewHome(t, offline).Command(t.Context(), "version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	var trace strings.Builder
	cmd.Stderr = &trace
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	ours, all := 0, 0
	for _, m := range initLine.FindAllStringSubmatch(trace.String(), -1) {
		n, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		all += n
		if strings.HasPrefix(m[1], "strata/") {
			ours += n
		}
	}
	if ours == 0 || ours > maxInitOfOurs || all > maxInit {
		t.Errorf("before main our packages allocate %d bytes (limit %d), all %d (limit %d):\n%s", ours, maxInitOfOurs, all, maxInit, trace.String())
	}
}

func skipWithDetector(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector adds to both")
	}
}
