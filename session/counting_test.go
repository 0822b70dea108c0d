package session

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/llm/reply"
	"strata/session/documents"
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

// tokenized returns how many bytes are tokenized while f runs.
func tokenized(f func()) int {
	counter := tokens.For("")
	before := counter.Encoded()
	f()
	return int(counter.Encoded() - before)
}

// A prompt tokenizes its own message, and its reply; the system prompt, the documents and the earlier messages were counted
// before. A short system prompt is not counted again either.
func TestAPromptTokenizesWhatIsNew(t *testing.T) {
	for name, lines := range map[string]int{"long": 100, "short": 3} {
		a := &acted{t: t, store: newLockedStore(), provider: newProvider()}
		a.Session = loneOf(t, a.store, a.provider, describingHost{}, withProfiles(t), func(d *Deps) {
			d.Rules.SystemPrompt = unlike("system", lines)
		})
		for i := range 4 {
			document := documents.Request{Name: fmt.Sprint("document", i), Text: unlike("fact", lines/3)}
			if _, err := answerOf(func(reply func(documents.Info, error)) { a.SetDocument(document, reply) }); err != nil {
				t.Fatal(err)
			}
		}
		turn := func(prompt, text string) {
			result := a.prompt(prompt, nil)
			c := a.asked()
			c.say(text)
			c.end(text)
			if r := <-result; r.err != nil {
				t.Fatal(r.err)
			}
		}
		turn("The first prompt", unlike("reply", 50))
		for range 3 {
			prompt, text := unlike("prompt", 2), unlike("reply", 50)
			if got, want := tokenized(func() { turn(prompt, text) }), len(prompt)+len(text); got != want {
				t.Errorf("%s: %d bytes were tokenized, want %d", name, got, want)
			}
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
	if got := tokens.For("").Encoded() - before; got != int64(size) {
		t.Errorf("%d bytes were tokenized, want %d", got, size)
	}
	stored := a.store.messages[4]
	alone := tokens.For("").Count("Zq") // what was counted while it arrived must not be found
	want := tokens.MessageOverhead + tokens.For("").Count(thought+"Zq") + tokens.For("").Count(text+"Zq") - 2*alone
	if stored.Role != history.RoleAssistant || stored.Tokens != want {
		t.Errorf("stored as %s with %d tokens, want %d", stored.Role, stored.Tokens, want)
	}
}
