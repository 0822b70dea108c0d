package heads

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
)

var long = strings.Repeat("long", 300)

func pick[T any](r *rand.Rand, values ...T) T { return values[r.IntN(len(values))] }

// randomHeads returns heads of all kinds, also of kinds that no version writes.
func randomHeads(r *rand.Rand, n int) (all []history.Head) {
	seq := int64(r.IntN(5))
	for range n {
		seq += 1 + int64(pick(r, 0, 0, 0, 1, 7, math.MaxInt32))
		h := history.Head{
			ID:  pick(r, "", "x", "msg_01J0000000000000000000000A", "msg_01J0000000000000000000000B", "msg_01J", "é\x00\xff", long),
			Seq: seq, Turn: pick(r, "", "turn_1", "turn_1", "turn_12", "\n"),
			Role:     pick(r, history.RoleUser, history.RoleAssistant, history.RoleTool, "system", ""),
			Status:   pick(r, append(slices.Clone(statuses), "odd")...),
			Tokens:   pick(r, 0, 1, 12345, -1, math.MaxInt, math.MinInt),
			Bytes:    pick(r, 0, 700, math.MaxInt),
			Blocks:   pick(r, 0, 1, 3),
			HasCalls: r.IntN(3) == 0,
			At:       time.UnixMicro(pick(r, int64(0), 1, 1_770_000_000_123_456, -1, math.MinInt64, math.MaxInt64)).UTC(),
		}
		all = append(all, h)
	}
	return all
}

func TestHeadsReturnAsTheyWerePacked(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 13))
		want := randomHeads(r, 1+r.IntN(blockHeads))
		before := randomHeads(r, r.IntN(3))
		got, err := decode(before, "sess_a", want[0].Seq, want[len(want)-1].Seq, encode("sess_a", want))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got[len(before):], want) {
			t.Fatalf("seed %d: packed\n%v\nunpacked\n%v", seed, want, got[len(before):])
		}
	}
}

func TestDamagedBlocks(t *testing.T) {
	want := randomHeads(rand.New(rand.NewPCG(1, 13)), 20)
	first, last := want[0].Seq, want[19].Seq
	block := encode("sess_a", want)
	refused := func(what string, session string, first, last int64, block []byte) {
		t.Helper()
		if got, err := decode(want[:1:1], session, first, last, block); err == nil || len(got) != 1 {
			t.Errorf("%s is not noticed", what)
		}
	}
	for i := range block {
		for bit := range 8 {
			damaged := append([]byte(nil), block...)
			damaged[i] ^= 1 << bit
			refused("a wrong byte", "sess_a", first, last, damaged)
		}
		refused("a missing end", "sess_a", first, last, block[:i])
	}
	refused("a block of another session", "sess_b", first, last, block)
	refused("another first", "sess_a", first-1, last, block)
	refused("another last", "sess_a", first, last+1, block)
	refused("no heads", "sess_a", 0, 0, encode("sess_a", nil))
	refused("too many heads", "sess_a", 1, blockHeads+1, encode("sess_a", ascending(blockHeads+1)))
	refused("a wrong order", "sess_a", last, first, encode("sess_a", []history.Head{want[19], want[0]}))
	payload := append([]byte(nil), block[:len(block)-4]...)
	refused("a byte at the end", "sess_a", first, last, sealed("sess_a", append(payload, 0)))
	payload[0] = format + 1
	refused("a later format", "sess_a", first, last, sealed("sess_a", payload))
}

func ascending(n int) []history.Head {
	all := make([]history.Head, n)
	for i := range all {
		all[i].Seq = int64(i + 1)
	}
	return all
}

// sealed adds the right checksum.
func sealed(session string, payload []byte) []byte {
	payload = payload[:len(payload):len(payload)]
	return binary.BigEndian.AppendUint32(payload, sum(session, payload))
}

// FuzzDecode decodes blocks with right checksums that no version has written.
func FuzzDecode(f *testing.F) {
	for seed := range uint64(5) {
		some := randomHeads(rand.New(rand.NewPCG(seed, 14)), 3)
		block := encode("sess_a", some)
		f.Add(some[0].Seq, some[2].Seq, block[:len(block)-4])
	}
	f.Add(int64(1), int64(1), []byte{format, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, first, last int64, payload []byte) {
		got, err := decode(nil, "sess_a", first, last, sealed("sess_a", payload))
		if err != nil {
			if len(got) != 0 {
				t.Fatalf("%d heads and an error", len(got))
			}
			return
		}
		again, err := decode(nil, "sess_a", first, last, encode("sess_a", got))
		if err != nil || len(got) == 0 || len(got) > blockHeads || !reflect.DeepEqual(got, again) {
			t.Fatalf("%v %v %v", got, again, err)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	some := ascending(blockHeads)
	for i := range some {
		some[i].ID = "msg_01J00000000000000000000" + string(rune('A'+i/26)) + string(rune('A'+i%26)) + "0"
		some[i].Role, some[i].At = history.RoleUser, time.UnixMicro(1_770_000_000_000_000+int64(i)*1_000_000).UTC()
	}
	block := encode("sess_a", some)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := decode(nil, "sess_a", 1, blockHeads, block); err != nil {
			b.Fatal(err)
		}
	}
}
