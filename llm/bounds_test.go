package llm

import (
	"errors"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm/reply"
)

// kept returns the bytes that an answer keeps.
func kept(blocks []history.Block) (n int) {
	for i := range blocks {
		b := &blocks[i]
		n += len(b.Text) + len(b.Args) + len(b.Name) + len(b.CallID) + len(b.Signature) + len(b.Data)
		if b.Origin != nil {
			n += len(b.Origin.ID) + len(b.Origin.Extra)
		}
	}
	return n
}

// told returns what the events of an answer told, by kind.
func (r *recorder) told() (text, thinking, args string) {
	var all [3]strings.Builder
	for _, e := range r.events {
		switch e.Kind {
		case reply.EventText:
			all[0].WriteString(e.Text)
		case reply.EventThinking:
			all[1].WriteString(e.Text)
		case reply.EventToolCall:
			all[2].WriteString(e.Call.Args)
		}
	}
	return all[0].String(), all[1].String(), all[2].String()
}

// endless are answers that go far beyond the bound, each with another part.
func endless(wire upstream.Wire) map[string][]upstream.Step {
	large := strings.Repeat("x", 1<<20)
	many := func(n int, step func() []upstream.Step) (steps []upstream.Step) {
		for range n {
			steps = append(steps, step()...)
		}
		return steps
	}
	args := make([]string, 200)
	for i := range args {
		args[i] = large
	}
	all := map[string][]upstream.Step{
		"arguments": upstream.Call("call_1", "write", append([]string{`{"text":"`}, args...)...),
		"a name":    upstream.Call("call_1", strings.Repeat("n", 3<<20), "{}"),
		"an id":     upstream.Call(strings.Repeat("i", 3<<20), "write", "{}"),
		"calls":     many(40, func() []upstream.Step { return upstream.Call(strings.Repeat("i", 100<<10), "write", "{}") }),
		"text":      many(3, func() []upstream.Step { return []upstream.Step{upstream.Text(large)} }),
		"thinking":  many(3, func() []upstream.Step { return []upstream.Step{upstream.Thinking(large, "")} }),
		"a seal":    {upstream.Thinking("hm", strings.Repeat("s", 3<<20)), upstream.Text("x")},
	}
	if wire == upstream.OpenAI {
		delete(all, "a seal")
	}
	return all
}

// All of an answer is bounded, whatever it consists of, and the reading of it ends at the bound.
func TestR05AllOfAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	for _, wire := range wires {
		for name, steps := range endless(wire) {
			up := newUpstream(t, upstream.Script{Steps: steps})
			req := ask(wire, "go on")
			req.Tools = []Tool{{Name: "write"}}
			res, err := newClient(t, up).Stream(t.Context(), req, func(reply.Event) {})
			if !errors.Is(err, reply.ErrTooLarge) {
				t.Errorf("%s, %s: error %v", wire, name, err)
			}
			if n := kept(res.Blocks); n > reply.MaxAnswer {
				t.Errorf("%s, %s: %d bytes are kept, the limit is %d", wire, name, n, reply.MaxAnswer)
			}
			if len(up.Requests()) != 1 {
				t.Errorf("%s, %s: %d requests", wire, name, len(up.Requests()))
			}
		}
	}
}

// An answer at the bound keeps exactly what was told of it, and ends with a whole character.
func TestR06WhatIsToldIsKept(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("€", 1000) // three bytes each: the bound is within one
	var steps []upstream.Step
	for range reply.MaxAnswer/len(long) + 2 {
		steps = append(steps, upstream.Text(long))
	}
	for _, wire := range wires {
		for name, steps := range map[string][]upstream.Step{
			"text":                    steps,
			"thinking, text, a call":  append([]upstream.Step{upstream.Thinking("hm", ""), upstream.Text("so")}, upstream.Call("c", "write", `{"a":"`, strings.Repeat("é", 1500<<10))...),
			"text after the bound":    append(upstream.Texts(strings.Repeat("x", reply.MaxAnswer-1), "é"), upstream.Text("behind")),
			"one byte below":          upstream.Texts(strings.Repeat("x", reply.MaxAnswer-1)),
			"a half pair at the end":  {upstream.Text(strings.Repeat("x", reply.MaxAnswer)), upstream.Text("y")},
			"the bound, to the byte":  upstream.Texts(strings.Repeat("x", reply.MaxAnswer)),
			"an empty call behind it": append(upstream.Texts(strings.Repeat("x", reply.MaxAnswer)), upstream.Call("c", "write")...),
		} {
			up := newUpstream(t, upstream.Script{Steps: steps})
			req := ask(wire, "go on")
			req.Tools = []Tool{{Name: "write"}}
			var r recorder
			res, err := newClient(t, up).Stream(t.Context(), req, r.on)
			if err != nil && !errors.Is(err, reply.ErrTooLarge) {
				t.Fatalf("%s, %s: %v", wire, name, err)
			}
			text, thinking, args := r.told()
			var stored [3]string
			for i := range res.Blocks {
				switch b := &res.Blocks[i]; b.Type {
				case history.BlockText:
					stored[0] += b.Text
				case history.BlockThinking:
					stored[1] += b.Text
				case history.BlockToolCall:
					stored[2] += b.Args
				}
			}
			if stored != [3]string{text, thinking, args} {
				t.Errorf("%s, %s: told %d, %d, %d bytes, kept %d, %d, %d", wire, name, len(text), len(thinking), len(args), len(stored[0]), len(stored[1]), len(stored[2]))
			}
			if n := kept(res.Blocks); n > reply.MaxAnswer || err != nil && n < reply.MaxAnswer-3 {
				t.Errorf("%s, %s: %d bytes are kept, %v", wire, name, n, err)
			}
		}
	}
}
