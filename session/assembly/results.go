package assembly

import (
	"context"
	"slices"

	"strata/history"
	"strata/llm"
	"strata/session/content"
)

// paired returns the messages of an item as a request contains them, with their counted tokens: each call has one result,
// directly after it. A call without a result gets one that says so, which is never stored: the real one can still come. A
// result without its call is sent as text. added are tokens that the messages do not have.
func (s *State) paired(messages []history.Message, view []history.Viewed) (entries []llm.Entry, sizes []int, added int, unanswered int) {
	add := func(role history.Role, blocks []history.Block, model string, size int) {
		entries = append(entries, llm.Entry{Kind: llm.EntryMessage, Role: role, Blocks: blocks, Model: model})
		sizes = append(sizes, size)
	}
	var waiting []*history.Block // calls
	for i := range messages {
		m := &messages[i]
		blocks := said(m)
		if m.Role != history.RoleTool {
			waiting = callsIn(blocks)
			add(m.Role, blocks, m.Model, view[i].Tokens)
			continue
		}
		results, rest := split(blocks, &waiting)
		size := view[i].Tokens
		if len(results) > 0 || len(rest) == 0 {
			add(m.Role, results, m.Model, size)
			size = 0
		}
		if len(rest) > 0 {
			text := asText(rest)
			more := content.Tokens(context.Background(), s.Counter, text) - content.Tokens(context.Background(), s.Counter, rest)
			add(history.RoleUser, text, "", size+more)
			added += more
		}
	}
	if len(waiting) == 0 {
		return entries, sizes, added, 0
	}
	var missing []history.Block
	for _, call := range waiting {
		missing = append(missing, llm.MissingResult(call))
	}
	n := content.Tokens(context.Background(), s.Counter, missing)
	if last := len(entries) - 1; entries[last].Role == history.RoleTool {
		n -= content.Tokens(context.Background(), s.Counter, nil)
		entries[last].Blocks = append(slices.Clone(entries[last].Blocks), missing...)
		sizes[last] += n
	} else {
		add(history.RoleTool, missing, "", n)
	}
	return entries, sizes, added + n, len(waiting)
}

// callsIn returns the calls in blocks, the first with each id.
func callsIn(blocks []history.Block) (calls []*history.Block) {
	for i := range blocks {
		if b := &blocks[i]; b.Type == history.BlockToolCall && !slices.ContainsFunc(calls, func(c *history.Block) bool { return c.CallID == b.CallID }) {
			calls = append(calls, b)
		}
	}
	return calls
}

// split divides blocks into the results of waiting calls, which wait no more, and the rest.
func split(blocks []history.Block, waiting *[]*history.Block) (results, rest []history.Block) {
	for _, b := range blocks {
		i := slices.IndexFunc(*waiting, func(call *history.Block) bool { return call.CallID == b.CallID })
		if b.Type != history.BlockToolResult || i < 0 {
			rest = append(rest, b)
			continue
		}
		results = append(results, b)
		*waiting = slices.Delete(*waiting, i, i+1)
	}
	return results, rest
}

// asText returns results as the content of a message.
func asText(results []history.Block) (blocks []history.Block) {
	for i := range results {
		head := "[result of a tool]"
		if results[i].IsError {
			head = "[result of a tool, an error]"
		}
		blocks = append(append(blocks, history.Block{Type: history.BlockText, Text: head}), results[i].Content...)
	}
	return blocks
}
