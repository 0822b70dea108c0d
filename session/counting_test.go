package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/tokens"
)

// unlike returns n lines that no other call returns: counters remember the texts of other tests.
func unlike(name string, n int) string {
	var b strings.Builder
	for range n {
		fmt.Fprintf(&b, "%s %d\n", name, rand.Uint64())
	}
	return b.String()
}

// A request tokenizes its new message; its system prompt, documents, files and tools, and the earlier messages, were counted
// for the request before. Short texts are not counted again either.
func TestARequestTokenizesWhatIsNew(t *testing.T) {
	for name, lines := range map[string]int{"long": 100, "short": 2} {
		m := manage(t, 1_000_000)
		system, tool := unlike("system", lines), llm.Tool{Name: "tool", Description: unlike("tool", lines)}
		for i := range 4 {
			m.document(fmt.Sprint("document", i), unlike("fact", lines), i%2 == 0)
			m.add(fmt.Sprint("file", i, ".txt"), unlike("line", lines))
		}
		prompt := func(words string) int {
			before := tokens.For("").Encoded()
			m.ask(words)
			state := m.snapshot(m.model)
			state.System, state.Tools = system, []llm.Tool{tool}
			if err := state.CheckPrompt(1, 1); err != nil {
				t.Fatal(err)
			}
			if _, err := state.Build(t.Context()); err != nil {
				t.Fatal(err)
			}
			return int(tokens.For("").Encoded() - before)
		}
		if first := prompt("The first prompt"); first < 8*len(system) {
			t.Errorf("%s: the first request tokenizes %d bytes", name, first)
		}
		m.answer(unlike("reply", lines))
		for range 3 {
			words := unlike("prompt", 2)
			if got := prompt(words); got != len(words) {
				t.Errorf("%s: %d bytes were tokenized, want %d", name, got, len(words))
			}
			m.answer(unlike("reply", lines))
		}
	}
}

// A reply is counted while it arrives, and stored with the tokens of its blocks.
func TestAReplyIsCountedWhileItArrives(t *testing.T) {
	a := act(t)
	a.talk("The first prompt")
	thought, text := unlike("thought", 60), unlike("reply", 300)
	result := a.prompt(unlike("prompt", 1), nil)
	c := a.asked()
	before := tokens.For("").Encoded()
	c.on(reply.Event{Kind: reply.EventThinking, Text: thought})
	for _, line := range strings.SplitAfter(text, "\n") {
		if line != "" {
			c.say(line)
		}
	}
	size := len(thought) + len(text)
	for tokens.For("").Encoded()-before < int64(size-1200) { // all but the last chunk; never if it waits for the end
		time.Sleep(time.Millisecond)
	}
	c.done <- called{reply.Result{
		Blocks:     []history.Block{{Type: history.BlockThinking, Text: thought}, {Type: history.BlockText, Text: text}},
		StopReason: reply.StopEndTurn,
	}, nil}
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	if got := tokens.For("").Encoded() - before; got >= int64(size+len(text)) { // the session can count other texts, which are short
		t.Errorf("%d bytes were tokenized: the reply of %d bytes twice", got, size)
	}
	stored := a.store.messages[4]
	alone := tokens.For("").Count("Zq") // what was counted while it arrived must not be found
	want := tokens.MessageOverhead + tokens.For("").Count(thought+"Zq") + tokens.For("").Count(text+"Zq") - 2*alone
	if stored.Role != history.RoleAssistant || stored.Tokens != want {
		t.Errorf("stored as %s with %d tokens, want %d", stored.Role, stored.Tokens, want)
	}
}
