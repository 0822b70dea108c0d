package llm

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm/reply"
)

func call(id string) history.Block {
	return history.Block{Type: history.BlockToolCall, CallID: id, Name: "tool_" + id, Args: `{"n":1}`}
}

func result(id, s string) history.Block {
	return history.Block{Type: history.BlockToolResult, CallID: id, Content: []history.Block{text(s)}}
}

func note(s string) Entry { return Entry{Kind: EntryContext, Blocks: []history.Block{text(s)}} }

// show renders a conversation: one line per turn, one word per part.
func show(c *conversation) string {
	var out strings.Builder
	for _, t := range c.turns {
		out.WriteString(map[bool]string{true: "assistant", false: "user"}[t.assistant])
		for _, p := range t.parts {
			out.WriteString(" | " + showPart(p))
		}
		out.WriteString("\n")
	}
	return out.String()
}

func showPart(p *part) string {
	s := p.text
	switch p.kind {
	case partImage:
		s = "IMAGE"
	case partThinking:
		s = "THINKING"
	case partCall:
		s = "CALL " + p.block.CallID
	case partResult:
		s = "RESULT " + p.block.CallID + ": " + joined(p.content)
	}
	s += map[Mark]string{Mark5m: " @5m", Mark1h: " @1h"}[p.mark]
	return strings.ReplaceAll(s, "\n", "/")
}

func TestConversation(t *testing.T) {
	tool := history.RoleTool
	assistantCalls := func(ids ...string) Entry {
		e := Entry{Kind: EntryMessage, Role: history.RoleAssistant}
		for _, id := range ids {
			e.Blocks = append(e.Blocks, call(id))
		}
		return e
	}
	for _, test := range []struct {
		name    string
		tools   bool
		entries []Entry
		want    string
	}{
		{"adjacent user content is one message", false,
			[]Entry{note("file"), user("a"), note("diff"), user("b")},
			"user | file | a | diff | b\n"},
		{"results come first, updates follow, then the user", true,
			[]Entry{user("a"), assistantCalls("1", "2"), note("update"), message(tool, result("1", "x")), message(tool, result("2", "y")), user("b")},
			"user | a\nassistant | CALL 1 | CALL 2\nuser | RESULT 1: x | RESULT 2: y | update | b\n"},
		{"a batch in one entry", true,
			[]Entry{user("a"), message(history.RoleAssistant, call("1"), result("1", "x")), user("b")},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: x | b\n"},
		{"a call without result", true,
			[]Entry{user("a"), assistantCalls("1"), user("b")},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: " + interrupted + " | b\n"},
		{"a call at the end", true,
			[]Entry{user("a"), assistantCalls("1")},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: " + interrupted + "\n"},
		{"a result without call", true,
			[]Entry{message(tool, result("9", "x")), user("b")},
			"user | [result of a tool]/x | b\n"},
		{"a result that comes too late", true,
			[]Entry{user("a"), assistantCalls("1"), user("b"), assistant("c"), message(tool, result("1", "x"))},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: " + interrupted + " | b\nassistant | c\nuser | [result of tool tool_1]/x\n"},
		{"two results for one call", true,
			[]Entry{user("a"), assistantCalls("1"), message(tool, result("1", "x"), result("1", "y"))},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: x | [result of tool tool_1]/y\n"},
		{"an id used twice, or none", true,
			[]Entry{user("a"), assistantCalls("1", "1", ""), message(tool, result("1", "x"))},
			`user | a` + "\n" + `assistant | CALL 1 | [called tool tool_1 with {"n":1}] | [called tool tool_ with {"n":1}]` + "\nuser | RESULT 1: x\n"},
		{"no tools are declared", false,
			[]Entry{user("a"), assistantCalls("1"), message(tool, result("1", "x")), user("b")},
			"user | a\nassistant | [called tool tool_1 with {\"n\":1}]\nuser | [result of tool tool_1]/x | b\n"},
		{"a call that was cut off", true,
			[]Entry{user("a"), message(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "1", Args: `{"a":`, Incomplete: true}), user("b")},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: " + cutOff + " | b\n"},
		{"a call whose arguments are a list", true,
			[]Entry{user("a"), message(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "1", Args: ` [1]`, Incomplete: true})},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: " + noObject + "\n"},
		{"a whole call after which the reply was cut off", true,
			[]Entry{user("a"), message(history.RoleAssistant, history.Block{Type: history.BlockToolCall, CallID: "1", Args: ` {}`, Incomplete: true})},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: " + cutOff + "\n"},
		{"damaged messages are left out", false,
			[]Entry{user("a"), message(history.RoleAssistant), message(history.RoleUser), user("b")},
			"user | a | b\n"},
		{"blank messages keep their place", false,
			[]Entry{user("a"), assistant(" \n\t\u00a0"), user(""), assistant("b"), user("c")},
			"user | a\nassistant | (no answer)\nuser | (no text)\nassistant | b\nuser | c\n"},
		{"blank context does not", false,
			[]Entry{note(" "), user("a")}, "user | a\n"},
		{"thinking alone is no answer", false,
			[]Entry{user("a"), message(history.RoleAssistant, history.Block{Type: history.BlockThinking, Text: "hm", Signature: "s"}), user("b")},
			"user | a\nassistant | THINKING | (no answer)\nuser | b\n"},
		{"thinking without seal does not leave", false,
			[]Entry{user("a"), message(history.RoleAssistant, history.Block{Type: history.BlockThinking, Text: "hm"}, text("b")), user("c")},
			"user | a\nassistant | b\nuser | c\n"},
		{"an answer comes first", false,
			[]Entry{assistant("a"), user("b")},
			"user | " + noBeginning + "\nassistant | a\nuser | b\n"},
		{"an answer comes last", false,
			[]Entry{user("a"), assistant("b")},
			"user | a\nassistant | b\nuser | (continue)\n"},
		{"nothing", false, nil, "user | (no text)\n"},
		{"answers in a row", false,
			[]Entry{user("a"), assistant("b"), assistant("c"), user("d")},
			"user | a\nassistant | b | c\nuser | d\n"},
		{"a picture for a model that cannot see", false,
			[]Entry{message(history.RoleUser, history.Block{Type: history.BlockImage, MIME: "image/png", Data: []byte("x"), Width: 3, Height: 4})},
			"user | [picture: image/png, 3 x 4; not shown to this model]\n"},
		{"an empty result", true,
			[]Entry{user("a"), assistantCalls("1"), message(tool, result("1", " "))},
			"user | a\nassistant | CALL 1\nuser | RESULT 1: (no output)\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := show(newConversation(test.entries, shape{tools: test.tools, thinking: ThinkingAlways, sealed: true})); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
		})
	}
}

// TestWhatWasSentStays appends entries one by one: the content of a request is unchanged at the start of the next
// request.
func TestWhatWasSentStays(t *testing.T) {
	all := wholeRequest(upstream.Anthropic).Entries
	before := ""
	for n := range all {
		c := newConversation(all[:n+1], shape{tools: true, vision: true, thinking: ThinkingAlways, sealed: true})
		if all[n].Kind == EntrySystem || all[n].Role == history.RoleAssistant || n+1 < len(all) && all[n+1].Role == history.RoleTool {
			continue // a request ends with a user message
		}
		sent := strings.TrimSuffix(show(c), "\n")
		sent = strings.NewReplacer(" @5m", "", " @1h", "").Replace(sent)
		if !strings.HasPrefix(sent, before) {
			t.Errorf("%d entries give\n%s\nwhich does not begin with\n%s", n+1, sent, before)
		}
		before = sent
	}
}

func marked(e Entry, m Mark) Entry {
	e.Mark = m
	return e
}

func TestMarks(t *testing.T) {
	system := Entry{Kind: EntrySystem, Blocks: []history.Block{text("s")}, Mark: Mark1h}
	for _, test := range []struct {
		name    string
		entries []Entry
		want    string
	}{
		{"on the last block that is not blank",
			[]Entry{{Kind: EntryMessage, Role: history.RoleUser, Blocks: []history.Block{text("a"), text("b"), text(" ")}, Mark: Mark5m}},
			"user | a | b @5m\n"},
		{"never on thinking",
			[]Entry{user("a"), {Kind: EntryMessage, Role: history.RoleAssistant, Mark: Mark5m,
				Blocks: []history.Block{{Type: history.BlockThinking, Text: "hm", Signature: "s"}, text("b"), {Type: history.BlockThinking, Text: "hm", Signature: "s"}}}, user("c")},
			"user | a\nassistant | THINKING | b @5m\nuser | c\n"},
		{"handed back by an entry that goes away",
			[]Entry{user("a"), marked(note(" "), Mark5m), user("b")},
			"user | a @5m | b\n"},
		{"four at most, the longest prefixes",
			[]Entry{system, marked(user("a"), Mark1h), marked(user("b"), Mark5m), marked(user("c"), Mark5m), marked(user("d"), Mark5m)},
			"user | a @1h | b @5m | c @5m | d @5m\n"},
		{"no long one behind a short one",
			[]Entry{marked(user("a"), Mark5m), marked(user("b"), Mark1h)},
			"user | a @5m | b @5m\n"},
		{"on a result that goes as text",
			[]Entry{marked(message(history.RoleTool, result("1", "x")), Mark5m), user("b")},
			"user | [result of a tool]/x @5m | b\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newConversation(test.entries, shape{thinking: ThinkingAlways, sealed: true})
			if got := show(c); got != test.want {
				t.Errorf("got\n%swant\n%s", got, test.want)
			}
			if n := len(c.markedParts()); n > maxMarks {
				t.Errorf("%d marks", n)
			}
		})
	}
}

// TestAnyEntriesAreAccepted sends random entries, valid or not, and checks that no known rule of a provider refuses the
// request.
func TestAnyEntriesAreAccepted(t *testing.T) {
	up := upstream.Start(upstream.Options{})
	t.Cleanup(up.Close)
	c := newClient(t, up)
	for seed := range uint64(500) {
		random := rand.New(rand.NewPCG(seed, 1))
		req := Request{Entries: randomEntries(random)}
		if random.IntN(2) == 0 {
			req.Tools = []Tool{{Name: "a"}}
		}
		for _, wire := range wires {
			req.Model = models[wire]
			if _, err := c.Stream(t.Context(), req, func(reply.Event) {}); err != nil {
				t.Fatal(err)
			}
			if reason := upstream.Refusal(up.Last(), 0); reason != "" {
				t.Fatalf("seed %d, %s: %s\n%s", seed, wire, reason, up.Last().Body)
			}
		}
	}
}

func randomEntries(random *rand.Rand) (out []Entry) {
	roles := []history.Role{history.RoleUser, history.RoleAssistant, history.RoleTool}
	for range random.IntN(12) {
		e := Entry{Kind: EntryKind(random.IntN(3)), Role: roles[random.IntN(3)], Mark: Mark(random.IntN(3))}
		for range random.IntN(4) {
			e.Blocks = append(e.Blocks, randomBlock(random))
		}
		out = append(out, e)
	}
	return out
}

func randomBlock(random *rand.Rand) history.Block {
	id := []string{"", "1", "2", "call:3", "call_3"}[random.IntN(5)]
	texts := []string{"", " ", "\n", "words", "\xff", "\u200b words"}
	s := texts[random.IntN(len(texts))]
	switch random.IntN(8) {
	case 0:
		return history.Block{Type: history.BlockThinking, Text: s, Signature: []string{"", "seal"}[random.IntN(2)]}
	case 1:
		return history.Block{Type: history.BlockImage, MIME: []string{"image/png", "image/bmp"}[random.IntN(2)], Data: []byte(s)}
	case 2, 3:
		return history.Block{Type: history.BlockToolCall, CallID: id, Name: "a", Args: []string{"", "{}", `{"a":`, "7"}[random.IntN(4)], Incomplete: random.IntN(3) == 0}
	case 4, 5:
		return history.Block{Type: history.BlockToolResult, CallID: id, IsError: random.IntN(2) == 0, Content: []history.Block{text(s),
			{Type: history.BlockImage, MIME: "image/png", Data: []byte(s)}}}
	case 6:
		return history.Block{Type: history.BlockResource, URI: fmt.Sprint("file:///", id), Text: s}
	}
	return text(s)
}

func TestSchemaIsOfAnObject(t *testing.T) {
	for schema, want := range map[string]string{
		``: `{"properties":{},"type":"object"}`, `[]`: `{"properties":{},"type":"object"}`,
		`{"required":["a"]}`: `{"required":["a"],"type":"object"}`, `{"type":"object"}`: `{"type":"object"}`,
	} {
		if got := string(schemaOf(Tool{Schema: []byte(schema)})); got != want {
			t.Errorf("%s: %s, want %s", schema, got, want)
		}
	}
}
