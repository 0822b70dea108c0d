package commands

import (
	"errors"
	"slices"
	"strings"

	"strata/history"
)

// MaxName is the maximum length of a command's name, in bytes.
const MaxName = 64

// Call is a prompt that begins with a command.
type Call struct {
	Name      string
	Arguments string   // the rest of the block, trimmed
	Links     []string // URIs of the resources in the prompt

	block int // index of the block with the command
}

// Parse returns the command of a prompt whose first text block is a command alone, or begins with a command and a blank. ok is
// false for any other prompt. Parse does not check whether the command exists.
func Parse(blocks []history.Block) (call Call, ok bool) {
	call.block = slices.IndexFunc(blocks, func(b history.Block) bool { return b.Type == history.BlockText })
	if call.block < 0 {
		return Call{}, false
	}
	text, found := strings.CutPrefix(blocks[call.block].Text, "/")
	end := strings.IndexAny(text, " \t\r\n")
	if end < 0 {
		end = len(text)
	}
	if call.Name = text[:end]; !found || !isName(call.Name) {
		return Call{}, false
	}
	call.Arguments = strings.TrimSpace(text[end:])
	for i := range blocks {
		if b := &blocks[i]; b.Type == history.BlockLink || b.Type == history.BlockResource {
			call.Links = append(call.Links, b.URI)
		}
	}
	return call, true
}

// Replace returns the prompt with a text instead of the command. The other blocks are unchanged.
func (c Call) Replace(blocks []history.Block, text string) []history.Block {
	blocks = slices.Clone(blocks)
	blocks[c.block].Text = text
	return blocks
}

// isName reports whether a name is valid for a command: 1 to MaxName ASCII letters, digits, - and _, of which the first is a
// letter or a digit.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && (i == 0 || c != '-' && c != '_') {
			return false
		}
	}
	return name != "" && len(name) <= MaxName
}

var errQuote = errors.New("a quote is not closed")

// Words splits arguments into words. Quotes (" or ') keep a word with blanks together. The error is for an unclosed quote.
func Words(arguments string) ([]string, error) {
	var words []string
	var word strings.Builder
	quote, open := rune(0), false
	for _, c := range arguments {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote, open = c, true
		case quote == 0 && strings.ContainsRune(" \t\r\n", c):
			if open {
				words = append(words, word.String())
				word.Reset()
			}
			open = false
		default:
			word.WriteRune(c)
			open = true
		}
	}
	switch {
	case quote != 0:
		return nil, errQuote
	case open:
		words = append(words, word.String())
	}
	return words, nil
}
