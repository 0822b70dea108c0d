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
// result without its call is sent as text, after the others. added are tokens that the messages do not have.
func (s *State) paired(messages []history.Message, view []history.Viewed) (entries []llm.Entry, sizes []int, added int, unanswered int) {
	ctx := context.Background()
	add := func(role history.Role, blocks []history.Block, model string, size int) {
		entries = append(entries, llm.Entry{Kind: llm.EntryMessage, Role: role, Blocks: blocks, Model: model})
		sizes = append(sizes, size)
	}
	var waiting []*history.Block // calls
	var rest []history.Block     // results of no call
	for i := range messages {
		m := &messages[i]
		blocks, size := said(m), view[i].Tokens
		if m.Role != history.RoleTool {
			waiting = callsIn(blocks)
			add(m.Role, blocks, m.Model, size)
			continue
		}
		results, others := split(blocks, &waiting)
		rest = append(rest, others...)
		if len(results) > 0 || len(others) == 0 {
			add(m.Role, results, m.Model, size)
		} else {
			added -= size
		}
	}
	unanswered = len(waiting)
	if unanswered > 0 {
		missing := missingResults(waiting)
		n := content.Tokens(ctx, s.Counter, missing)
		add(history.RoleTool, missing, "", n)
		added += n
	}
	if len(rest) > 0 {
		text := asText(rest)
		n := content.Tokens(ctx, s.Counter, text)
		add(history.RoleUser, text, "", n)
		added += n
	}
	return entries, sizes, added, unanswered
}

func missingResults(calls []*history.Block) (results []history.Block) {
	for _, call := range calls {
		results = append(results, llm.MissingResult(call))
	}
	return results
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
