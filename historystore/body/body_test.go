package body

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
)

func text(text string) history.Block { return history.Block{Type: history.BlockText, Text: text} }

const id = "msg_01J0000000000000000000000A"

func message(blocks ...history.Block) history.Message {
	return history.Message{
		ID: id, Seq: 7, Turn: "turn_01J", Role: history.RoleAssistant, Blocks: blocks, Tokens: 12,
		At: time.Date(2026, 1, 2, 3, 4, 5, 678_900_000, time.UTC), Model: "anthropic/claude", Status: history.StatusComplete,
	}
}

// plainMessages are decoded without encoding/json, fullMessages with it.
func plainMessages() []history.Message {
	reply := history.Block{Type: history.BlockToolResult, CallID: "c", IsError: true, Content: []history.Block{text("<out>"), text("more")}}
	shown, titled := reply, reply
	shown.Call = &history.CallShown{Title: "Read \"a.go\"", Kind: "read", Locations: []history.Location{{Path: "/a.go", Line: 7}, {Path: "/b.go"}}}
	titled.Call = &history.CallShown{Title: "Plan"}
	appended := message(text("x"))
	appended.Turn, appended.Model, appended.Status, appended.Role = "", "", "", history.RoleUser
	failed := message(text("y"))
	failed.Status = history.StatusFailed
	return []history.Message{
		message(text("plain")), message(text("\"<&>\\\n\x00\u2028\xff é😀")), message(text(strings.Repeat("huge ", 100_000))), appended, failed,
		message(text(""), history.Block{Type: history.BlockThinking, Text: "hm", Signature: "abc="}, text("two")),
		message(history.Block{Type: history.BlockToolCall, CallID: "c", Name: "read", Args: `{"path":"a\"b"}`, Incomplete: true}),
		message(reply), message(shown), message(titled, shown), message(history.Block{Type: history.BlockResource, URI: "file:///a", Text: "b", MIME: "text/plain"}),
		message(history.Block{Type: history.BlockLink, URI: "file:///a", Name: "b"}),
	}
}

func fullMessages() []history.Message {
	loop := message(text("x"))
	loop.Meta = json.RawMessage(`{"iteration":3}`)
	none, negative := message(), message(text("x"))
	shown := history.Block{Type: history.BlockToolResult, CallID: "c", Call: &history.CallShown{}}
	before := history.Block{Type: history.BlockToolResult, CallID: "c", Call: &history.CallShown{Locations: []history.Location{{Path: "a", Line: -1}}}}
	negative.Tokens = -1
	return []history.Message{
		loop, none, negative, message(shown), message(before),
		message(history.Block{Type: history.BlockImage, Data: []byte{1, 2}, MIME: "image/png", Width: 1, Height: 2}),
		message(history.Block{Type: history.BlockToolCall, CallID: "c", Origin: &history.Origin{ID: "p"}}),
	}
}

func encoded(t testing.TB, m history.Message) (string, int64) {
	t.Helper()
	body, checksum, err := Encode(&m)
	if err != nil {
		t.Fatal(err)
	}
	return string(body), checksum
}

func TestCommonMessagesAreDecodedWithoutEncodingJSON(t *testing.T) {
	var d Decoder
	for _, m := range plainMessages() {
		body, _ := encoded(t, m)
		if _, ok := d.plain(body); !ok {
			t.Errorf("decoded in full: %.200s", body)
		}
	}
	for _, m := range fullMessages() {
		body, _ := encoded(t, m)
		if _, ok := d.plain(body); ok {
			t.Errorf("not decoded in full: %.200s", body)
		}
	}
}

func TestMessagesReturnAsTheyWereStored(t *testing.T) {
	var d Decoder
	for _, m := range append(plainMessages(), fullMessages()...) {
		body, checksum := encoded(t, m)
		got, err := d.Decode(body, checksum, id, 7)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Blocks { // json.Marshal replaces bytes that are not UTF-8
			m.Blocks[i].Text = strings.ToValidUTF8(m.Blocks[i].Text, "\ufffd")
		}
		if diff := cmp.Diff(m, got); diff != "" && !(len(m.Blocks) == 0 && got.Blocks == nil) {
			t.Errorf("%.200s: %s", body, diff)
		}
	}
}

func TestDecodedMessagesAreIndependent(t *testing.T) {
	var d Decoder
	var got, want []history.Message
	for range 2 {
		for _, m := range plainMessages() {
			body, checksum := encoded(t, m)
			one, err := d.Decode(body, checksum, id, 7)
			if err != nil {
				t.Fatal(err)
			}
			var full history.Message
			if err := json.Unmarshal([]byte(body), &full); err != nil {
				t.Fatal(err)
			}
			got, want = append(got, one), append(want, full)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestDamagedBodies(t *testing.T) {
	var d Decoder
	for _, m := range append(plainMessages()[:2], fullMessages()...) {
		body, checksum := encoded(t, m)
		for i := range len(body) {
			damaged := body[:i] + string(body[i]^1) + body[i+1:]
			if _, err := d.Decode(damaged, checksum, id, 7); err == nil {
				t.Errorf("a wrong byte at %d is not noticed: %s", i, damaged)
			}
		}
		if _, err := d.Decode(body[:len(body)-1], checksum, id, 7); err == nil {
			t.Errorf("a missing byte is not noticed: %s", body)
		}
	}
	body, checksum := encoded(t, message(text("x")))
	for name, err := range map[string]error{
		"not JSON":                decodeError(&d, "{", sum([]byte("{")), id, 7),
		"another id":              decodeError(&d, body, checksum, "msg_other", 7),
		"another sequence number": decodeError(&d, body, checksum, id, 8),
	} {
		if err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}

func decodeError(d *Decoder, body string, checksum int64, id string, seq int64) error {
	_, err := d.Decode(body, checksum, id, seq)
	return err
}

// FuzzBothDecodersAgree decodes bodies that no version has written, too.
func FuzzBothDecodersAgree(f *testing.F) {
	for _, m := range append(plainMessages(), fullMessages()...) {
		if body, _ := encoded(f, m); len(body) < 10_000 {
			f.Add(body)
		}
	}
	for _, body := range []string{
		``, `{}`, `null`, `{"id":"a"}`, `{"id":"a","ID":"b"}`, `{"id":"a","id":"b"}`, `{"blocks":[{"type":"text","content":[{"content":[{}]}]}]}`,
		`{"at":"2026-01-02T03:04:05+01:00"}`, `{"at":"2026-1-2"}`, `{"role":"system"}`, `{"blocks":[{"type":"text","isError":false}]}`, `{"seq":1e3}`,
		`{"blocks":null}`, `{"blocks":[{"type":"tool_result","call":null}]}`, `{"blocks":[{"call":{"title":"a","title":"b"}}]}`,
		`{"blocks":[{"call":{"locations":[{"path":"a","line":1.5}]}}]}`, `{"blocks":[{"content":[{"call":{"kind":"read","locations":[{"line":3}]}}]}]}`,
		`{"blocks":[{"call":{"Title":"a"}}]}`, `{"blocks":[{"call":{"locations":[]}}]}`, `{"blocks":[null]}`, `{"at":"2026-01-02T03:04:05\u005a"}`, ` { "id" : "a" } `, `{"id":"a"} x`, `{"role":"\u0075ser"}`,
	} {
		f.Add(body)
	}
	var d Decoder
	f.Fuzz(func(t *testing.T, body string) {
		got, ok := d.plain(body)
		if !ok {
			return
		}
		var want history.Message
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatalf("%s is decoded, by encoding/json refused: %v", body, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("%s: %s", body, diff)
		}
	})
}

func TestDecodingCopiesNoPlainText(t *testing.T) {
	var d Decoder
	body, checksum := encoded(t, message(text(strings.Repeat("words ", 500))))
	allocated := testing.AllocsPerRun(100, func() {
		if _, err := d.Decode(body, checksum, id, 7); err != nil {
			t.Fatal(err)
		}
	})
	const most = 4 // the id, the blocks, and what their readers keep
	if allocated > most {
		t.Errorf("%v allocations", allocated)
	}
}

func BenchmarkDecode(b *testing.B) {
	for name, words := range map[string]string{"prose": strings.Repeat("message 1 of many. ", 50), "code": strings.Repeat("if a < b {\n\treturn \"x\"\n}\n", 40)} {
		body, checksum := encoded(b, message(text(words)))
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var d Decoder
			for b.Loop() {
				if _, err := d.Decode(body, checksum, id, 7); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+" by encoding/json", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var m history.Message
				if err := json.Unmarshal([]byte(body), &m); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
