package history

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCheckBlocks(t *testing.T) {
	words, call := Block{Type: BlockText, Text: "words"}, Block{Type: BlockToolCall, CallID: "c", Name: "run", Args: `{"a":1}`}
	picture, result := Block{Type: BlockImage, Data: []byte{1}, MIME: "image/png"}, Block{Type: BlockToolResult, CallID: "c"}
	for name, c := range map[string]struct {
		role  Role
		in    []Block
		want  []Block
		fault string // part of the error
	}{
		"text":                       {RoleUser, []Block{words, {Type: BlockText}}, []Block{words}, ""},
		"nothing":                    {RoleUser, nil, nil, "empty"},
		"nothing but empty text":     {RoleUser, []Block{{Type: BlockText}}, nil, "empty"},
		"too many":                   {RoleUser, make([]Block, maxBlocks+1), nil, "exceeds the limit of 1000"},
		"unknown type":               {RoleUser, []Block{{Type: "audio"}}, nil, `block 0: unknown type "audio"`},
		"no type":                    {RoleUser, []Block{words, {}}, nil, "block 1: "},
		"thinking":                   {RoleAssistant, []Block{{Type: BlockThinking, Text: "hm", Signature: "s"}}, []Block{{Type: BlockThinking, Text: "hm", Signature: "s"}}, ""},
		"thinking of a user":         {RoleUser, []Block{{Type: BlockThinking, Text: "hm"}}, nil, "only allowed in a message with role assistant"},
		"call of a user":             {RoleUser, []Block{call}, nil, "only allowed in a message with role assistant"},
		"call":                       {RoleAssistant, []Block{words, call}, []Block{words, call}, ""},
		"call without id":            {RoleAssistant, []Block{{Type: BlockToolCall, Name: "run"}}, nil, "callId and name"},
		"call without name":          {RoleAssistant, []Block{{Type: BlockToolCall, CallID: "c"}}, nil, "callId and name"},
		"call without arguments":     {RoleAssistant, []Block{{Type: BlockToolCall, CallID: "c", Name: "run"}}, []Block{{Type: BlockToolCall, CallID: "c", Name: "run", Args: "{}"}}, ""},
		"call with broken arguments": {RoleAssistant, []Block{{Type: BlockToolCall, CallID: "c", Name: "run", Args: `{"a`}}, []Block{{Type: BlockToolCall, CallID: "c", Name: "run", Args: `{"a`, Incomplete: true}}, ""},
		"text of a tool":             {RoleTool, []Block{words}, nil, "not allowed in a message with role tool"},
		"result of a user":           {RoleUser, []Block{result}, nil, "only allowed in a message with role tool"},
		"result without id":          {RoleTool, []Block{{Type: BlockToolResult}}, nil, "requires callId"},
		"result":                     {RoleTool, []Block{{Type: BlockToolResult, CallID: "c", IsError: true, Content: []Block{words, picture}}}, []Block{{Type: BlockToolResult, CallID: "c", IsError: true, Content: []Block{words, picture}}}, ""},
		"result within a result":     {RoleTool, []Block{{Type: BlockToolResult, CallID: "c", Content: []Block{result}}}, nil, "content 0"},
		"broken picture in a result": {RoleTool, []Block{{Type: BlockToolResult, CallID: "c", Content: []Block{words, {Type: BlockImage}}}}, nil, "content 1: an image"},
		"picture without type":       {RoleUser, []Block{{Type: BlockImage, Data: []byte{1}}}, nil, "data and mime"},
		"picture without data":       {RoleUser, []Block{{Type: BlockImage, MIME: "image/png"}}, nil, "data and mime"},
		"picture of negative size":   {RoleUser, []Block{{Type: BlockImage, Data: []byte{1}, MIME: "image/png", Width: -1, Height: -5}}, []Block{picture}, ""},
		"link and resource":          {RoleUser, []Block{{Type: BlockLink, URI: "u", Name: "n"}, {Type: BlockResource, URI: "u", Text: "x"}}, []Block{{Type: BlockLink, URI: "u", Name: "n"}, {Type: BlockResource, URI: "u", Text: "x"}}, ""},
		"fields of other types":      {RoleUser, []Block{{Type: BlockText, Text: "words", URI: "u", Data: []byte{1}, CallID: "c", IsError: true, Content: []Block{words}}}, []Block{words}, ""},
	} {
		got, err := CheckBlocks(c.role, c.in)
		if (err != nil) != (c.fault != "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: error %v, want %q", name, err, c.fault)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

func FuzzCheckBlocks(f *testing.F) {
	f.Add("user", `[{"type":"text","text":"words"},{"type":"image","data":"AA==","mimeType":"image/png","width":-3}]`)
	f.Add("assistant", `[{"type":"tool_call","callId":"c","name":"n","args":"{"},{"type":"thinking","text":"x","signature":"s"}]`)
	f.Add("tool", `[{"type":"tool_result","callId":"c","content":[{"type":"text","text":"x"},{"type":"tool_result","callId":"d"}]}]`)
	f.Fuzz(func(t *testing.T, role, raw string) {
		var in []Block
		if json.Unmarshal([]byte(raw), &in) != nil {
			return
		}
		out, err := CheckBlocks(Role(role), in)
		if err != nil {
			if out != nil {
				t.Error("blocks in addition to an error")
			}
			return
		}
		if len(out) == 0 || len(out) > len(in) {
			t.Errorf("%d blocks of %d", len(out), len(in))
		}
		again, err := CheckBlocks(Role(role), out)
		if err != nil {
			t.Fatalf("accepted blocks are refused the second time: %v", err)
		}
		if d := cmp.Diff(out, again); d != "" {
			t.Errorf("accepted blocks are changed the second time: %s", d)
		}
		m := Message{Role: Role(role), Blocks: out}
		m.PlainText()
		m.Head(0)
	})
}

func TestPlainText(t *testing.T) {
	m := Message{Blocks: []Block{
		{Type: BlockThinking, Text: "hm"}, {Type: BlockText, Text: "one"}, {Type: BlockText}, {Type: BlockResource, Text: "two"},
		{Type: BlockLink, Name: "link"}, {Type: BlockToolCall, Name: "run"},
		{Type: BlockToolResult, Content: []Block{{Type: BlockText, Text: "three"}, {Type: BlockImage}, {Type: BlockText, Text: "four"}}},
	}}
	if got := m.PlainText(); got != "one\ntwo\nthree\nfour" {
		t.Errorf("%q", got)
	}
}

func TestHead(t *testing.T) {
	m := Message{ID: "msg_1", Seq: 3, Role: RoleAssistant, Tokens: 7, Blocks: []Block{{Type: BlockText}, {Type: BlockToolCall}}}
	want := Head{ID: "msg_1", Seq: 3, Role: RoleAssistant, Tokens: 7, Bytes: 99, Blocks: 2, HasCalls: true}
	if d := cmp.Diff(want, m.Head(99)); d != "" {
		t.Error(d)
	}
	for role, valid := range map[Role]bool{RoleUser: true, RoleAssistant: true, RoleTool: true, "": false, "system": false} {
		if role.Valid() != valid {
			t.Errorf("%q: valid %v", role, !valid)
		}
	}
}

func TestUsageAddsUp(t *testing.T) {
	u := Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}
	if got := u.Add(u); got != (Usage{2, 4, 6, 8}) || got.Context() != 16 {
		t.Errorf("%+v, context %d", got, got.Context())
	}
}
