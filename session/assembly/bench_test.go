package assembly

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"strata/history"
	"strata/session/content"
	"strata/session/fit"
	"strata/stability"
	"strata/tokens"
)

// talk is the stored messages of a conversation, and the stored blobs of requests.
type talk struct {
	messages []history.Message
	blobs    map[string][]byte
	fetched  []string // hashes of the texts that were asked for
}

func (s *talk) say(role history.Role, words string) {
	n := len(s.messages) + 1
	blocks := []history.Block{{Type: history.BlockText, Text: words}}
	s.messages = append(s.messages, history.Message{
		ID: fmt.Sprint("msg_", n), Seq: int64(n), Role: role, Blocks: blocks, Tokens: content.Tokens(context.Background(), tokens.For(""), blocks),
	})
}

func (s *talk) view() []history.Viewed {
	heads := make([]history.Head, len(s.messages))
	for i := range s.messages {
		heads[i] = s.messages[i].Head(content.Bytes(s.messages[i].Blocks))
	}
	return history.NewLog(heads, nil).View()
}

func (s *talk) Messages(_ context.Context, _ string, seqs []int64) ([]history.Message, error) {
	messages := make([]history.Message, len(seqs))
	for i, seq := range seqs {
		messages[i] = s.messages[seq-1]
	}
	return messages, nil
}

func (s *talk) Blobs(_ context.Context, hashes []string) (map[string][]byte, error) {
	s.fetched = append(s.fetched, hashes...)
	found := make(map[string][]byte)
	for _, hash := range hashes {
		if bytes, ok := s.blobs[hash]; ok {
			found[hash] = bytes
		}
	}
	return found, nil
}

// BenchmarkBuild measures what a request costs with 2,000 outlines, 60 files in context and 500 messages: to plan it,
// that is to collect, fit and lay out its items, and to render its 2 MB. The files are unsaved texts, so that no stat is
// measured, unchanged, so that no diff is, and known, so that no hashing is. Outlines are not built yet: they are given
// as items.
func BenchmarkBuild(b *testing.B) {
	stored := &talk{blobs: make(map[string][]byte)}
	state := stateOf(b, stored, stability.Options{})
	state.Model.Window, state.Model.MaxOutput = 4_000_000, 1_000_000
	lines := func(name string, n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "%s %05d = value\n", name, i)
		}
		return out.String()
	}
	for i := range 60 {
		state.Files = append(state.Files, unsaved(fmt.Sprintf("dir%d/open%02d.go", i%8, i), lines("some", 300)))
	}
	var outlines []fit.Item
	for i := range 2000 {
		outlines = append(outlines, fit.TextItem(fmt.Sprintf("outline:dir%d/file%d.go", i%40, i), stability.Outline, lines("func", 15), state.Counter))
	}
	for range 250 {
		stored.say(history.RoleUser, strings.Repeat(" word", 100))
		stored.say(history.RoleAssistant, strings.Repeat(" word", 200))
	}
	stored.say(history.RoleUser, "And now?")
	state.View = stored.view()

	plan := func() (collected, fit.Result, planned) {
		c, err := state.collect(b.Context())
		if err != nil {
			b.Fatal(err)
		}
		c.items = append(outlines[:len(outlines):len(outlines)], c.items...)
		fitted, err := fit.Fit(b.Context(), state.fitting(&c))
		if err != nil {
			b.Fatal(err)
		}
		p, err := state.layOut(b.Context(), fitted.Items, nil)
		if err != nil {
			b.Fatal(err)
		}
		return c, fitted, p
	}
	render := func(c *collected, fitted *fit.Result, p *planned) Built {
		built, err := state.render(b.Context(), c, p, fitted)
		if err != nil {
			b.Fatal(err)
		}
		return built
	}
	c, fitted, p := plan()
	first := render(&c, &fitted, &p)
	first.Mirror.Answered(first.Plan, stability.Usage{Write: first.Plan.Tokens, Input: first.Plan.Tokens})
	var change history.Change
	if err := state.Layout.Answered(&first, &change); err != nil {
		b.Fatal(err)
	}
	for _, blob := range change.Blobs {
		stored.blobs[blob.Hash] = blob.Bytes
	}
	stored.say(history.RoleAssistant, "Now this.")
	stored.say(history.RoleUser, "And then?")
	state.View = stored.view()

	b.Run("plan", func(b *testing.B) {
		for b.Loop() {
			plan()
		}
	})
	b.Run("render", func(b *testing.B) {
		c, fitted, p := plan()
		for b.Loop() {
			render(&c, &fitted, &p)
		}
	})
}
