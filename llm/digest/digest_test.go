package digest

import (
	"strings"
	"testing"
)

func TestDigestIsBounded(t *testing.T) {
	lines := Lines(Contents{Prompt: "count to 999999999\n" + strings.Repeat("line\n", 1000)})
	if n := len(lines); n > maxCount+maxQuoted+20 || n < maxCount {
		t.Errorf("%d lines", n)
	}
}
