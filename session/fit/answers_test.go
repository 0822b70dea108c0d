package fit

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"strata/history"
	"strata/session/content"
)

// withCalls replaces the conversation of a desk by one with calls of tools, and prompts without an answer.
func (d *desk) withCalls(r *rand.Rand) {
	clear(d.messages)
	var heads []history.Head
	say := func(role history.Role, block history.Block) {
		m := history.Message{ID: fmt.Sprint("m", len(heads)), Seq: int64(len(heads) + 1), Role: role, Blocks: []history.Block{block}}
		m.Tokens = content.Tokens(context.Background(), d.request.Counter, m.Blocks)
		d.messages[m.Seq] = m
		heads = append(heads, m.Head(content.Bytes(m.Blocks)))
	}
	words := func() history.Block {
		return history.Block{Type: history.BlockText, Text: WithMarker(fmt.Sprintln("A text with words in it, and more of them: ", r.Perm(1+r.IntN(80))), 1<<20)}
	}
	for range 1 + r.IntN(12) {
		say(history.RoleUser, words())
		for i := range r.IntN(4) {
			id := fmt.Sprint("c", len(heads), i)
			say(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: id, Name: "look", Args: "{}"})
			say(history.RoleTool, history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{words()}})
		}
		if r.IntN(6) > 0 {
			say(history.RoleAssistant, words())
		}
	}
	if r.IntN(2) == 0 {
		say(history.RoleUser, words())
	}
	first := slices.IndexFunc(d.request.Items, func(it Item) bool { return it.User })
	d.request.Items = append(d.request.Items[:first:first], Conversation(history.NewLog(heads, nil).View())...)
	newest := d.request.Items[len(d.request.Items)-1]
	d.request.Limit = d.request.Items[0].Size() + newest.Size() + 60 + r.IntN(Size(d.request.Items))
	d.request.Goal = int(float64(d.request.Limit) * KeepShare)
}

// In all requests a prompt that was answered has its answer, and the marker of omitted messages never comes between a first
// prompt and its answer.
func TestF22FittedPromptsHaveTheirAnswers(t *testing.T) {
	kept, evicted := 0, 0
	for seed := range uint64(600) {
		r := rand.New(rand.NewPCG(seed, 22))
		d := newDesk(r, seed%2 == 1)
		if seed%4 > 1 {
			d.withCalls(r)
		}
		result, err := Fit(t.Context(), d.request)
		if err != nil {
			t.Fatal(err)
		}
		if size := Size(result.Items); size > d.request.Limit {
			t.Fatalf("seed %d: %d of %d tokens", seed, size, d.request.Limit)
		}
		has := func(key string) int {
			return slices.IndexFunc(result.Items, func(it Item) bool { return it.Key == key })
		}
		evicted += len(result.Changes.Evict)
		for prompt, answer := range answersOf(d.request.Items) {
			asked, answered := has(d.request.Items[prompt].Key), has(d.request.Items[answer].Key)
			if asked >= 0 {
				kept++
			}
			if asked >= 0 && answered < 0 {
				t.Fatalf("seed %d: %s is there without its answer %s", seed, d.request.Items[prompt].Key, d.request.Items[answer].Key)
			}
			if marker := has(OmittedKey); asked >= 0 && marker > asked && marker < answered && has(d.request.Items[len(d.request.Items)-1].Key) != answered {
				t.Fatalf("seed %d: the marker comes between %s and its answer", seed, d.request.Items[prompt].Key)
			}
		}
	}
	if kept < 500 || evicted < 500 {
		t.Errorf("%d prompts with an answer were kept, %d messages evicted", kept, evicted)
	}
}
