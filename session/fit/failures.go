package fit

import (
	"context"
	"slices"
	"strings"

	"strata/history"
	"strata/session/content"
)

// findFailures marks the steps of the conversation that failed: with a tool result marked as an error, or a word of the
// profile that tells of a failure. They are evicted after all others. An error is one of reading messages.
func (f *fitter) findFailures(ctx context.Context) error {
	if !f.fillsGreedily() || len(f.FailureWords) == 0 {
		return nil
	}
	var heads []history.Head
	where := make(map[int64]int) // item by sequence number
	for i := range f.items {
		for _, v := range slices.Concat(f.items[i].Messages, f.items[i].Shows) {
			heads, where[v.Seq] = append(heads, v.Head), i
		}
	}
	for len(heads) > 0 {
		var seqs []int64
		seqs, heads = history.Page(heads, pageBytes)
		messages, err := f.Read(ctx, seqs)
		if err != nil {
			return err
		}
		for i := range messages {
			m := &messages[i]
			if it := &f.items[where[m.Seq]]; m.Role != history.RoleUser {
				it.Failed = it.Failed || content.Failed(m) || hasAny(m.PlainText(), f.FailureWords)
			}
		}
	}
	return nil
}

func hasAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return word != "" && strings.Contains(text, word) })
}
