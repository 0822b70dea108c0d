package text

import (
	"strings"
	"testing"
	"unicode"

	"strata/filecontext/outline"
)

// FuzzBlock checks that no text of a file starts a line or contains a control character.
func FuzzBlock(f *testing.F) {
	for _, h := range hostile[:len(hostile)-2] {
		f.Add(h, h, h, 1)
	}
	f.Fuzz(func(t *testing.T, path, name, signature string, depth int) {
		o := &outline.Outline{
			Language: name, Imports: []outline.Import{{Path: name, Names: []string{path}}},
			Symbols: []outline.Symbol{{Kind: path, Name: name, Signature: signature, Line: depth, Depth: depth}},
		}
		block := Block(File{path, o}, RestoreAliases([]string{name}))
		lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
		if len(lines) > 3 || !strings.HasSuffix(block, "\n") {
			t.Errorf("block %q", block)
		}
		for i, l := range lines {
			if i > 0 && !strings.HasPrefix(l, " ") || strings.ContainsFunc(l, func(c rune) bool { return !unicode.IsPrint(c) }) {
				t.Errorf("line %q", l)
			}
		}
	})
}
