// Package editorcheck tries the configurations in docs/editors.md: in the editors that are installed, and with the messages
// that other editors send.
//
// It must never install an editor or a plugin.
package editorcheck

import (
	"os"
	"strings"
)

// Block is a fenced block of code in a document.
type Block struct {
	Heading  string // of its section, of level 2
	Language string // as in the fence; empty for none
	Code     string // without the fence and without the last newline
}

// Blocks returns the fenced blocks of a Markdown document that stand under a heading of level 2, in their order.
func Blocks(markdown string) (all []Block) {
	const fence = "```"
	var heading string
	var open *Block
	for line := range strings.Lines(markdown) {
		text := strings.TrimRight(line, "\r\n")
		name, isHeading := strings.CutPrefix(text, "## ")
		language, isFence := strings.CutPrefix(text, fence)
		switch {
		case open != nil && isFence:
			open.Code = strings.TrimSuffix(open.Code, "\n")
			all = append(all, *open)
			open = nil
		case open != nil:
			open.Code += text + "\n"
		case isHeading:
			heading = name
		case isFence && heading != "":
			open = &Block{Heading: heading, Language: language}
		}
	}
	return all
}

// First returns the first block under each heading that has one.
func First(blocks []Block) (first []Block) {
	for _, b := range blocks {
		if len(first) == 0 || first[len(first)-1].Heading != b.Heading {
			first = append(first, b)
		}
	}
	return first
}

// Read returns the blocks of a Markdown file.
func Read(path string) ([]Block, error) {
	text, err := os.ReadFile(path)
	return Blocks(string(text)), err
}
