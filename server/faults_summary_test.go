package server

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/session/assembly"
)

var (
	promptMark = regexp.MustCompile(`<<P(\d+)>>`)
	answerMark = regexp.MustCompile(`<<A(\d+)>>`)
)

// spoken is a message of a request as text.
type spoken struct {
	role, text string
}

// marks returns the numbers of prompts or answers in a message.
func (m *spoken) marks(mark *regexp.Regexp) (numbers []string) {
	for _, found := range mark.FindAllStringSubmatch(m.text, -1) {
		numbers = append(numbers, found[1])
	}
	return numbers
}

// spokenIn returns the messages of a provider's request.
func spokenIn(req *upstream.Request) []spoken {
	all := make([]spoken, len(req.Messages))
	for i, m := range req.Messages {
		all[i].role = m.Role
		var texts []string
		for _, b := range m.Blocks {
			texts = append(texts, b.Text)
			for _, part := range b.Content {
				texts = append(texts, part.Text)
			}
		}
		all[i].text = strings.Join(texts, "\n\n")
	}
	return all
}

// joined returns the messages of a frontend's request, with successive messages of one role as one.
func joined(a assembly.Assembled) (all []spoken) {
	for _, m := range a.Messages {
		text := ""
		for i := range m.Content {
			text += m.Content[i].Text + "\n\n"
		}
		if n := len(all); n > 0 && all[n-1].role == m.Role {
			all[n-1].text += text
		} else {
			all = append(all, spoken{m.Role, text})
		}
	}
	return all
}

// random is a random session, and which of its prompts were answered.
type random struct {
	ts       *testServer
	e        *testclient.Editor
	sid      string
	r        *rand.Rand
	loop     bool // requests contain the view of a loop
	n        int
	answered map[string]bool
	seen     map[string]int // what requests contained
}

func (s *random) words() string { return strings.Repeat("Some words of it. ", 2+s.r.IntN(60)) }

// act does something other than a prompt.
func (s *random) act() {
	n := func() string { s.n++; return fmt.Sprint(s.n) }
	add := func(messages ...any) {
		call[any](s.ts, s.e, "_strata/history/append", s.sid, map[string]any{"messages": messages})
	}
	switch s.r.IntN(7) {
	case 0, 1:
		id := n()
		s.answered[id] = true
		add(message("user", "<<P"+id+">> "+s.words()), message("assistant", "<<A"+id+">> "+s.words()))
	case 2: // an answer after steps
		id := n()
		s.answered[id] = true
		messages := []any{message("user", "<<P"+id+">> "+s.words())}
		for step := range 1 + s.r.IntN(3) {
			callID := fmt.Sprint("c", id, "_", step)
			messages = append(messages,
				message("assistant", []any{map[string]any{"type": "tool_call", "callId": callID, "name": "look", "args": "{}"}}),
				message("tool", []any{map[string]any{"type": "tool_result", "callId": callID, "content": []any{map[string]any{"type": "text", "text": s.words()}}}}))
		}
		add(append(messages, message("assistant", "<<A"+id+">> "+s.words()))...)
	case 3: // a prompt without an answer
		add(message("user", "<<P"+n()+">> "+s.words()))
	case 4: // steps without an answer
		id := n()
		add(message("user", "<<P"+id+">> "+s.words()),
			message("assistant", []any{map[string]any{"type": "tool_call", "callId": "c" + id, "name": "look", "args": "{}"}}),
			message("tool", []any{map[string]any{"type": "tool_result", "callId": "c" + id, "content": []any{map[string]any{"type": "text", "text": s.words()}}}}))
	default:
		var result any
		if err := s.e.Call("_strata/history/compact", map[string]any{"sessionId": s.sid, "strategy": strategies[s.r.IntN(len(strategies))]}, &result); err != nil {
			wireFault(s.ts.t, err, -32602) // the results of tool calls are missing
		}
	}
}

// check checks a request, whose newest prompt has the given number; empty for none.
func (s *random) check(about string, messages []spoken, newest string) {
	t := s.ts.t
	t.Helper()
	fail := func(format string, args ...any) {
		t.Helper()
		var all strings.Builder
		for _, m := range messages {
			fmt.Fprintf(&all, "[%s] %.300s\n", m.role, m.text)
		}
		t.Fatalf("%s, prompt %s: %s\n%s", about, newest, fmt.Sprintf(format, args...), all.String())
	}
	for i := range messages {
		m := &messages[i]
		if i > 0 && m.role == "user" && messages[i-1].role == "user" {
			fail("messages %d and %d are the user's", i-1, i)
		}
		summary := strings.Contains(m.text, "# Background: summary of") || s.loop && strings.Contains(m.text, "# Progress Summary (")
		switch prompts := m.marks(promptMark); {
		case m.role == "system":
		case summary:
			s.seen["summary"]++
			if !strings.HasPrefix(m.text, "# Background") && !strings.HasPrefix(m.text, "# Progress Summary (") ||
				!s.loop && !strings.HasSuffix(strings.TrimSpace(m.text), "# End of the summary") {
				fail("message %d is not only a summary", i)
			}
			if i+1 < len(messages) && messages[i+1].role != "assistant" {
				fail("nobody acknowledges the summary")
			}
		case m.role != "user" || s.loop:
		case len(prompts) > 1:
			fail("message %d is the prompts %v", i, prompts)
		case len(prompts) == 1 && prompts[0] != newest && s.answered[prompts[0]]:
			s.seen["answered"]++
			if !s.answers(messages[i+1:], prompts[0]) {
				fail("the prompt %s is without its answer", prompts[0])
			}
		case len(prompts) == 1 && prompts[0] != newest:
			s.seen["unanswered"]++
		}
	}
	last := messages[len(messages)-1]
	if newest == "" {
		return
	}
	if prompts := last.marks(promptMark); last.role != "user" || len(prompts) == 0 || prompts[len(prompts)-1] != newest || !s.loop && len(prompts) != 1 {
		fail("the newest prompt is not alone at the end")
	}
}

// answers reports whether the answer of a prompt comes before another prompt.
func (s *random) answers(rest []spoken, number string) bool {
	for i := range rest {
		if rest[i].role == "assistant" && slices.Contains(rest[i].marks(answerMark), number) {
			return true
		}
		if rest[i].role == "user" && len(rest[i].marks(promptMark)) > 0 {
			return false
		}
	}
	return false
}

// In random sessions of all profiles, compacted by all strategies and evicted from in small windows, both APIs and frontends
// get summaries as messages of their own, each answered prompt with its answer, and the newest prompt alone.
func TestF22WhatBelongsTogetherIsOneMessage(t *testing.T) {
	long(t)
	t.Parallel()
	up := upstream.Options{Strict: true}
	seen := make(map[string]int)
	for _, model := range []string{"local/test", "claude/test"} {
		for _, layout := range bothLayouts {
			ts := startChat(t, up, map[string]llm.ModelConfig{model: {Window: 6_000, MaxOutput: 1_000}}, func(o *Options) {
				o.Sessions.DefaultConfig.Model, o.Sessions.Rules.Stability.Layout = model, layout
			})
			ts.upstream.Choose(func(req *upstream.Request) upstream.Script {
				all := spokenIn(req)
				prompts := all[len(all)-1].marks(promptMark)
				return upstream.Script{Steps: []upstream.Step{upstream.Text("<<A" + prompts[len(prompts)-1] + ">> " + strings.Repeat("It is so. ", len(prompts[0])*20))}}
			})
			e := ts.editor()
			ts.write("a.go", "package a\n")
			for seed, profile := range []string{"chat", "steps", "loop", "task", "phased"} {
				about := fmt.Sprintf("%s, %s, %s", model, layout, profile)
				s := &random{ts: ts, e: e, sid: e.NewSession(ts.work), r: rand.New(rand.NewPCG(uint64(seed), 22)), loop: profile == "loop", answered: map[string]bool{}, seen: seen}
				ts.choose(e, s.sid, "profile", profile)
				call[any](ts, e, "_strata/files/add", s.sid, map[string]any{"path": "a.go"})
				for range 24 {
					for range s.r.IntN(3) {
						s.act()
					}
					if s.r.IntN(4) == 0 {
						ts.write("a.go", "package a\n\n// "+s.words()+"\n")
					}
					s.check(about+", assembled", joined(call[assembly.Assembled](ts, e, "_strata/context/assemble", s.sid, map[string]any{"preview": true})), "")
					s.n++
					number := fmt.Sprint(s.n)
					switch s.r.IntN(6) {
					case 0: // it fails
						ts.upstream.Push(upstream.Script{Status: 401})
						if _, err := e.Prompt(s.sid, "<<P"+number+">> "+s.words()); err == nil {
							t.Fatalf("%s: prompt %s did not fail", about, number)
						}
					default:
						mustPrompt(t, e, s.sid, "<<P"+number+">> "+s.words())
						s.answered[number] = true
					}
					s.check(about, spokenIn(ts.upstream.Last()), number)
					ts.settle(e)
				}
			}
		}
	}
	for _, what := range []string{"summary", "answered", "unanswered"} {
		if seen[what] < 100 {
			t.Errorf("only %d times: %s", seen[what], what)
		}
	}
}

// The profile steps with five answered prompts, a compaction, and "stop": a summary, the last prompt with its answer, and
// "stop" are messages of their own.
func TestF22StopAfterACompaction(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"local/test", "claude/test"} {
		ts := startChat(t, upstream.Options{Strict: true}, map[string]llm.ModelConfig{model: {Window: 60_000, MaxOutput: 1_000}}, func(o *Options) {
			o.Sessions.DefaultConfig.Model = model
		})
		e := ts.editor()
		sid := e.NewSession(ts.work)
		ts.choose(e, sid, "profile", "steps")
		for i := range 5 {
			ts.appendPair(e, sid, fmt.Sprintf("<<P%d>> Remove the file number %d. %s", i, i, talk(i, 100)), fmt.Sprintf("<<A%d>> Removed. %s", i, talk(i, 100)))
		}
		ts.settle(e)
		if s := statusOf(ts, e, sid); s.LastOutcome != "compacted" {
			t.Fatalf("%+v", s)
		}
		mustPrompt(t, e, sid, "stop")
		all := spokenIn(ts.upstream.Last())
		if all[0].role == "system" {
			all = all[1:]
		}
		var roles []string
		for _, m := range all {
			roles = append(roles, m.role)
		}
		if !slices.Equal(roles, []string{"user", "assistant", "user", "assistant", "user"}) || !strings.HasPrefix(all[0].text, "# Background: summary of 8") ||
			!strings.HasSuffix(strings.TrimSpace(all[0].text), "# End of the summary") || all[1].text != "Understood." || !strings.HasPrefix(all[2].text, "<<P4>>") ||
			!strings.HasPrefix(all[3].text, "<<A4>>") || all[4].text != "stop" {
			t.Errorf("%s: %q", model, all)
		}
	}
}
