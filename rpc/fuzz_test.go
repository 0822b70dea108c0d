package rpc

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

var frameSeeds = []string{
	``, ` `, `5`, `null`, `[]`, `[1,2]`, `{}`, `{"jsonrpc":"2.0","id":3,`, `]]}}`, `{]`, `"`, `"\`, `{"id":"\"`, `{"id"::1}`,
	`{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":"\ud83d"}}`,
	`{"jsonrpc":"2.0","id":"7","method":"echo","params":[1]}`,
	`{"jsonrpc":"2.0","method":"n"}`,
	`{"jsonrpc":"2.0","id":9007199254740993,"result":{}}`,
	`{"jsonrpc":"2.0","id":null,"error":{"code":1}}`,
	`{"jsonrpc":"2.0","id":1e3,"method":"x"}`,
	`{"jsonrpc":"2.0","id":1,"\u0069d":2,"method":"x"}`,
	`{"jsonrpc":"2.0","id":1,"method":"x","params":` + strings.Repeat(`[`, 250) + strings.Repeat(`]`, 250) + `}`,
	`{"a":{"id":1},"id":2,"b":"},\"id\":3","method":"x"}`,
}

// FuzzParseMessage compares parseMessage with encoding/json.
func FuzzParseMessage(f *testing.F) {
	for _, s := range frameSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		before := bytes.Clone(frame)
		m, fault := parseMessage(frame, 200)
		if !bytes.Equal(frame, before) {
			t.Fatal("the frame was changed")
		}
		if fault != nil && m.id != nil && !validID(m.id) {
			t.Fatalf("the response would have the invalid id %s", m.id)
		}
		if !json.Valid(frame) {
			if fault == nil && m.kind != kindResponse {
				t.Fatal("accepted a frame that is not JSON")
			}
			return
		}
		if fault != nil || m.kind == kindResponse {
			return
		}
		var want map[string]json.RawMessage
		if err := json.Unmarshal(frame, &want); err != nil {
			t.Fatalf("accepted, but: %v", err)
		}
		for name, got := range map[string]json.RawMessage{"jsonrpc": m.version, "id": m.id, "method": m.method, "params": m.params} {
			if !bytes.Equal(got, want[name]) {
				t.Errorf("%s is %s, want %s", name, got, want[name])
			}
		}
		if (m.kind == kindRequest) != (want["id"] != nil) {
			t.Errorf("kind is %d", m.kind)
		}
		var method string
		if err := json.Unmarshal(appendMethod(m), &struct{ Method *string }{&method}); err != nil {
			t.Errorf("the envelope is broken: %v", err)
		}
	})
}

func appendMethod(m message) []byte { return appendRequest(nil, 7, m.method) }

// FuzzIDs checks that ids are returned byte for byte, and that two ids are equal exactly if encoding/json decodes them
// to the same value.
func FuzzIDs(f *testing.F) {
	for _, s := range [][2]string{{`7`, `"7"`}, {`"a"`, `"\u0061"`}, {`0`, `-0`}, {`""`, `"\""`}, {`9007199254740993`, `9007199254740992`}, {`"\ud83d"`, `"\ufffd"`}, {`""`, `"" `}} {
		f.Add([]byte(s[0]), []byte(s[1]))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		if !validID(a) || !validID(b) || !utf8.Valid(a) || !utf8.Valid(b) {
			return
		}
		table := newIDTable()
		first, free := table.claim(a)
		if !free {
			t.Fatal("an empty table refused an id")
		}
		second, free := table.claim(b)
		if same := sameID(t, a, b); free == same {
			t.Fatalf("%s and %s: free is %v", a, b, free)
		}
		if got := table.release(first); got != string(a) {
			t.Errorf("%s came back as %s", a, got)
		}
		if !free {
			second, _ = table.claim(b)
		}
		if got := table.release(second); got != string(b) {
			t.Errorf("%s came back as %s", b, got)
		}
		if len(table.byKey)+len(table.byNumber)+table.requests != 0 {
			t.Error("the table is not empty")
		}
	})
}

func sameID(t *testing.T, a, b []byte) bool {
	var x, y any
	for raw, v := range map[*[]byte]*any{&a: &x, &b: &y} {
		d := json.NewDecoder(bytes.NewReader(*raw))
		d.UseNumber()
		if err := d.Decode(v); err != nil {
			t.Fatal(err)
		}
		if *v == json.Number("-0") {
			*v = json.Number("0")
		}
	}
	return x == y
}

// FuzzSurrogates checks that cleanSurrogates changes only lone surrogates, which encoding/json replaces, too.
func FuzzSurrogates(f *testing.F) {
	for _, s := range []string{`"\ud83d"`, `"\ud83d\ude00"`, `"\\ud83d"`, `"\ud83d\ud83d\ude00"`, `"\uDFFF"`, `"\ud83d\u0041"`, `{"\ud800":"\udc00x"}`, `"\u0000"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		clean := bytes.Clone(raw)
		cleanSurrogates(clean)
		var want, got any
		if json.Unmarshal(raw, &want) != nil || json.Unmarshal(clean, &got) != nil {
			return // number out of range
		}
		a, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(got)
		if err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s became %s", raw, clean)
		}
		again := bytes.Clone(clean)
		if cleanSurrogates(again); !bytes.Equal(again, clean) {
			t.Errorf("%s was not clean", clean)
		}
	})
}
