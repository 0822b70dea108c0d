package assembly

import (
	"strata/history"
	"strata/llm"
	"strata/session/fit"
	"strata/stability"
	"strata/tokens"
)

// separations are the replies that separate the entries of a request.
var separations = map[stability.Separation][]history.Block{
	stability.Acknowledged: {{Type: history.BlockText, Text: "Understood."}},
	stability.Unanswered:   {{Type: history.BlockText, Text: "(no answer)"}},
}

// separate adds the reply to the request that separates an entry from those before it.
func (r *renderer) separate(e *stability.Entry) {
	if e.Before == stability.NotSeparated {
		return
	}
	size := separationTokens(r.Counter, e.Before)
	r.separators += size
	r.add(llm.Entry{Kind: llm.EntryMessage, Role: history.RoleAssistant, Blocks: separations[e.Before]}, size)
}

func separationTokens(counter *tokens.Counter, s stability.Separation) int {
	return counter.Count(separations[s][0].Text) + tokens.MessageOverhead
}

// separators returns how many tokens the replies that separate items have at most: that depends on their order.
func (s *State) separators(items []fit.Item) int {
	alone, prompts, open, run := 0, 0, false, false
	for i := range items {
		switch it := &items[i]; {
		case it.Alone, it.Run && !run:
			alone++
			run = run || it.Run && !it.Alone
		case it.Kind == stability.Message:
			if it.User && open {
				prompts++
			}
			open = it.User || it.Open
		}
	}
	return 2*alone*separationTokens(s.Counter, stability.Acknowledged) + prompts*separationTokens(s.Counter, stability.Unanswered)
}
