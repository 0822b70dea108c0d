package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// quiet returns an inbox that does not wait.
func quiet() *inbox {
	in := newInbox(slog.New(slog.DiscardHandler))
	in.messages.SetLimit(1e12)
	return in
}

// oddMessages are messages that servers must not send.
var oddMessages = []string{
	`{"jsonrpc":"2.0","method":"notifications/elicitation/complete"}`,
	`{"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":null}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[],"progress":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":[]}`,
	`{"jsonrpc":"2.0","id":1,"method":"notifications/elicitation/complete"}`,
	`{"jsonrpc":"2.0","id":1,"method":"elicitation/create"}`,
	`{"jsonrpc":"2.0","id":"a","method":"elicitation/create","params":null}`,
	`{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{"messages":[null]}}`,
	`{"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}}`,
	`{"jsonrpc":"2.0","id":-1,"method":"roots/list","params":7}`,
	`{"jsonrpc":"2.0","id":-1,"method":"ping"}{"jsonrpc":"2.0","id":-1,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":1.5,"method":""}`, `{"jsonrpc":"2.0","id":3,"method":null}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`,
	`{"jsonrpc":"2.0","id":2}`, `{"jsonrpc":"2.0","id":2,"result":null}`, `{"jsonrpc":"2.0","id":3,"error":{}}`, `{"jsonrpc":"2.0","id":3,"error":null,"result":[]}`,
	`{"jsonrpc":"2.0","id":3,"result":{"content":[null,{"type":"resource","resource":null},{"type":"tool_result","content":[null]}]}}`,
	`{"jsonrpc":"2.0","id":3,"result":{"tools":[null,{"name":"a","inputSchema":{"properties":{"x":{"x-mcp-header":5}}}}],"nextCursor":5}}`,
	`{"jsonrpc":"2.0","id":3,"result":{"inputRequests":{"a":{"method":"elicitation/create"},"b":null},"resultType":"input_required","content":[]}}`,
	`[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `null`, `"x"`, `{`, "\x00\xff", strings.Repeat("[", 3000),
}

func FuzzRepair(f *testing.F) {
	for _, m := range oddMessages {
		f.Add([]byte(m))
	}
	f.Add([]byte(`{"content":[{"type":"x"},{"type":"text","text":5}],"isError":1}`))
	f.Add([]byte(`{"content":[],"inputRequests":{"b":null}}`))
	f.Add([]byte(`{"content":[{"type":"text","text":"a"}],"inputRequests":{"b":{"method":"x"}},"resultType":"input_required"}`))
	f.Add([]byte(`{"tools":[{"name":"a","annotations":5},{"name":5}],"nextCursor":{}}`))
	f.Fuzz(func(t *testing.T, result []byte) {
		repaired := repair(result)
		var members map[string]json.RawMessage
		if json.Unmarshal(result, &members) != nil {
			return
		}
		if members["content"] != nil && !readable[sdk.CallToolResult](repaired) {
			t.Errorf("the result of a call cannot be read: %s", repaired)
		}
		if members["content"] == nil && members["tools"] != nil && !readable[sdk.ListToolsResult](repaired) {
			t.Errorf("the list cannot be read: %s", repaired)
		}
	})
}

func FuzzSieve(f *testing.F) {
	for _, m := range oddMessages {
		f.Add([]byte("event: message\nid: 1\nretry: 5000\ndata: " + m + "\n\n"))
	}
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\ndata: \"id\":1,\"result\":{}}\r\n\r\n:\nno colon\nid: \x00\nretry: -1\n\nevent: other\ndata: {}\n"))
	f.Fuzz(func(t *testing.T, stream []byte) {
		out, err := io.ReadAll(newSieve(t.Context(), io.NopCloser(bytes.NewReader(stream)), quiet()))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(out)) {
			field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
			switch field {
			case "", "id", "retry":
			case "data":
				if _, err := jsonrpc.DecodeMessage([]byte(value)); err != nil {
					t.Errorf("%q is no message: %v", value, err)
				}
			default:
				t.Errorf("the line %q", line)
			}
		}
	})
}

func TestEventsAreReducedToMessagesIDsAndPauses(t *testing.T) {
	in := "retry: 10\ndata: noise\n\n" +
		"id: 1\nretry: 2000\n\n" +
		": comment\nevent: message\nid: 2\ndata: {\"jsonrpc\":\"2.0\",\r\ndata:\"id\":1,\"result\":{}}\n\n" +
		"event: other\ndata: {\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}\n\n" +
		"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{}}\n\n" +
		"id: " + strings.Repeat("x", maxEventID+1) + "\n\n" +
		"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"
	out, err := io.ReadAll(newSieve(t.Context(), io.NopCloser(strings.NewReader(in)), quiet()))
	must(t, err)
	equal(t, "stream", string(out), "id: 1\nretry: 2000\n\n"+
		"id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"+
		"data: {\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}\n\n")
}

func TestLinesAreBounded(t *testing.T) {
	l := newLines(strings.NewReader("abc\r\n\n12345\n123456\nlast"), 5)
	for _, want := range []string{"abc", "", "12345", "!", "last"} {
		line, err := l.next()
		if err != nil {
			line = []byte("!")
			equal(t, "error", err.Error(), errTooLarge.Error())
		}
		equal(t, "line", string(line), want)
	}
	if _, err := l.next(); err != io.EOF {
		t.Errorf("the error at the end is %v", err)
	}
}

func TestTheEndOfAnOutputIsKept(t *testing.T) {
	var kept tail
	for range 100 {
		_, _ = kept.Write([]byte(strings.Repeat("x", 1000)))
	}
	_, _ = kept.Write([]byte("the end\n"))
	equal(t, "size", len(kept.text()), maxTail-1)
	hasAll(t, kept.text(), "xthe end")
	_, _ = kept.Write(bytes.Repeat([]byte("y"), 3*maxTail))
	equal(t, "text", kept.text(), strings.Repeat("y", maxTail))
}
