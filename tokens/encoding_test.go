package tokens

import (
	"strings"
	"testing"
)

func TestArenaKeepsWhatItIsGiven(t *testing.T) {
	var a arena
	var kept, want []string
	for _, size := range []int{1, arenaBytes - 2, 3, 0, 2 * arenaBytes, 5, arenaBytes} {
		text := []byte(strings.Repeat(string(rune('a'+len(kept))), size))
		want = append(want, string(text))
		kept = append(kept, a.keep(text))
		clear(text) // callers reuse the buffer
	}
	for i := range want {
		if kept[i] != want[i] {
			t.Errorf("text %d of %d bytes was not kept unchanged", i, len(want[i]))
		}
	}
}

func BenchmarkReadRanks(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := readRanks(Default, make(map[string]int, 199_998)); err != nil {
			b.Fatal(err)
		}
	}
}
