package wire

import (
	"strings"
	"testing"

	"strata/history"
	"strata/rpc"
	"strata/session/events"
)

// FuzzChunksAreEncodedAsByEncodingJSON compares the encoding of chunks of text with that of all other events.
func FuzzChunksAreEncodedAsByEncodingJSON(f *testing.F) {
	f.Add("plain", "sess_1", "msg_1", uint64(3), uint64(9), uint8(0))
	f.Add("<b>&\u2028\u2029\"\\\n\x00\xff é😀", "s\xff", "m<", uint64(9), uint64(9), uint8(1))
	f.Add("", "", "", uint64(0), uint64(0), uint8(2))
	f.Add(strings.Repeat("huge \x01\xe2\x28", 40<<10), "sess_1", "msg_1", uint64(1), uint64(0), uint8(3))
	f.Add("no first", "sess_1", "msg_1", uint64(0), uint64(5), uint8(4))
	f.Add("the client's own", "sess_1", "msg_1", uint64(5), uint64(5), uint8(131))
	f.Fuzz(func(t *testing.T, text, session, message string, first, seq uint64, kind uint8) {
		c := Encoder{SessionID: session, Epoch: session + "e"}
		words := &history.Block{Type: history.BlockText, Text: text}
		e := []events.Event{
			{Kind: events.Text, Text: text},
			{Kind: events.Thought, Text: text},
			{Kind: events.Block, Role: history.RoleUser, Block: words},
			{Kind: events.Block, Role: history.RoleAssistant, Block: words},
			{Kind: events.Block, Role: history.RoleTool, Block: words},
		}[kind%5]
		e.Message, e.First, e.Seq = message, first, seq
		if id := new(events.Identity); kind >= 128 {
			c.Identity, e.Origin = id, id
		}
		if _, _, direct := chunk(&e); !direct {
			t.Fatalf("kind %d is not encoded as a chunk", kind%5)
		}
		want, _, err := c.encode(&e)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second one uses the buffer of the first
			got, ok, err := c.Encode(&e)
			if err != nil || !ok {
				t.Fatal(ok, err)
			}
			if string(got.Params) != string(want.Params) || got.Method != want.Method || got.Seq != want.Seq {
				t.Fatalf("%q is encoded as\n%s, by encoding/json as\n%s", text, got.Params, want.Params)
			}
		}
	})
}

func TestBufferOfHugeChunkIsNotKept(t *testing.T) {
	c := Encoder{SessionID: "s", Epoch: "e"}
	for _, size := range []int{keptChunk, 10} {
		e := events.Event{Kind: events.Text, Text: strings.Repeat("x", size), Message: "m"}
		if _, _, err := c.Encode(&e); err != nil {
			t.Fatal(err)
		}
		if kept := cap(c.buf); kept > keptChunk || (kept > 0) != (size < keptChunk) {
			t.Errorf("after a chunk of %d bytes, a buffer of %d bytes is kept", size, kept)
		}
	}
}

func TestEncodingAChunkAllocatesNothing(t *testing.T) {
	c := Encoder{SessionID: "sess_01J", Epoch: "epoch"}
	e := events.Event{Kind: events.Text, Text: "a few words \n", Message: "msg_01J", First: 1, Seq: 2}
	if n := testing.AllocsPerRun(100, func() { c.Encode(&e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkDelta(b *testing.B) {
	c := Encoder{SessionID: "sess_01J0000000000000000000000A", Epoch: "01J0000000000000000000000B"}
	e := events.Event{Kind: events.Text, Text: "a few words of a reply, \"and\" so on\n", Message: "msg_01J0000000000000000000000C", First: 8, Seq: 9}
	for name, encode := range map[string]func(*events.Event) (rpc.Notification, bool, error){"appended": c.Encode, "by encoding/json": c.encode} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := encode(&e); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
