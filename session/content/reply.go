package content

import (
	"strings"

	"strata/history"
	"strata/llm/reply"
)

// Joined returns the saved chunks of a reply as blocks, one for each run of one kind.
func Joined(partials []history.Partial) []history.Block {
	var blocks []history.Block
	for _, p := range partials {
		if n := len(blocks); n > 0 && blocks[n-1].Type == p.Kind {
			blocks[n-1].Text += p.Text
			continue
		}
		blocks = append(blocks, history.Block{Type: p.Kind, Text: p.Text})
	}
	return blocks
}

// Blank reports whether blocks have nothing that a model could reply to.
func Blank(blocks []history.Block) bool {
	for i := range blocks {
		if b := &blocks[i]; b.Type != history.BlockText || strings.TrimSpace(b.Text) != "" {
			return false
		}
	}
	return true
}

// EmptyReply returns the notice about a complete reply that says nothing.
func EmptyReply(stopReason string) string {
	if stopReason == string(reply.StopMaxTokens) {
		return "The model's reply is empty: it reached its output limit before any text."
	}
	return "The model's reply is empty."
}
