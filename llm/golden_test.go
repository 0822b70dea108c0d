package llm

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"strata/history"
	"strata/internal/upstream"
	"strata/llm/reply"
)

var update = flag.Bool("update", false, "write the golden files anew")

// wholeRequest contains everything that a request can contain.
func wholeRequest(wire upstream.Wire) Request {
	temperature := 0.1
	picture := history.Block{Type: history.BlockImage, MIME: "image/png", Data: []byte("\x89PNG…"), Width: 4, Height: 3}
	call := func(id, name, args string) history.Block {
		return history.Block{Type: history.BlockToolCall, CallID: id, Name: name, Args: args}
	}
	result := func(id string, content ...history.Block) history.Block {
		return history.Block{Type: history.BlockToolResult, CallID: id, Content: content}
	}
	return Request{
		Model:       models[wire],
		MaxOutput:   4000,
		Temperature: &temperature,
		Thought:     ThoughtLow,
		Tools: []Tool{
			{Name: "read", Description: "Reads a file.", Schema: json.RawMessage(`{"type":"object","required":["path"],"properties":{"path":{"type":"string"}}}`)},
			{Name: "write"},
		},
		Entries: []Entry{
			{Kind: EntrySystem, Blocks: []history.Block{text("You are careful.")}},
			{Kind: EntrySystem, Blocks: []history.Block{text("rules:\n- be brief")}, Mark: Mark1h},
			{Kind: EntryContext, Blocks: []history.Block{text("```go main.go\npackage main\n```")}, Mark: Mark5m},
			message(history.RoleUser, text("Read <it> & look at this."), picture,
				history.Block{Type: history.BlockLink, URI: "https://example.org/a", Name: "a page"},
				history.Block{Type: history.BlockResource, URI: "file:///notes.md", Text: "a ``` fence\n"}),
			message(history.RoleAssistant,
				history.Block{Type: history.BlockThinking, Text: "I should read.", Signature: "seal"},
				history.Block{Type: history.BlockThinking, Data: []byte("opaque")},
				text("Reading."), call("call_1", "read", `{"path": "/a"}`), call("call_2", "write", `{"path":"/b","text":"hel`)),
			message(history.RoleTool, result("call_1", text("content of a"), picture)),
			{Kind: EntryContext, Blocks: []history.Block{text("main.go has changed")}, Mark: Mark5m},
			message(history.RoleUser, text("And 日本語 😀?")),
			{Kind: EntryMessage, Role: history.RoleAssistant, Blocks: []history.Block{text("\n")}},
			{Kind: EntryMessage, Role: history.RoleUser, Blocks: []history.Block{text("Well?"), text("  ")}, Mark: Mark5m},
		},
	}
}

// TestGoldenRequest pins the bytes of a request. If they change, every user's cache is empty once.
func TestGoldenRequest(t *testing.T) {
	for _, wire := range wires {
		t.Run(string(wire), func(t *testing.T) {
			up := upstream.Start(upstream.Options{}) // a strict one did not sign the thinking of wholeRequest
			t.Cleanup(up.Close)
			c := newClient(t, up)
			for range 2 {
				if _, err := c.Stream(t.Context(), wholeRequest(wire), func(reply.Event) {}); err != nil {
					t.Fatal(err)
				}
			}
			got := up.Requests()
			if !bytes.Equal(got[0].Body, got[1].Body) {
				t.Errorf("equal requests gave different bytes:\n%s\n%s", got[0].Body, got[1].Body)
			}
			golden(t, string(wire)+".golden", got[0].Body)
		})
	}
}

// golden compares got with a file, in which each message stands on lines of its own for a reader.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, readable(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(readable(got), want) {
		t.Errorf("%s differs; it is now\n%s", path, readable(got))
	}
}

// readable puts a line break, which no JSON of ours has, before each object. Nothing else is changed.
func readable(body []byte) []byte {
	return append(bytes.ReplaceAll(body, []byte(`{"`), []byte("\n{\"")), '\n')
}
