package tokens

import (
	"bytes"
	"flag"
	"maps"
	"math"
	"os"
	"testing"

	loader "github.com/pkoukk/tiktoken-go-loader"
)

var update = flag.Bool("update", false, "write the tables of tokens")

var tables = map[string]string{O200k: o200kTable, CL100k: cl100kTable}

// TestTablesAreThoseOfTheLoader compares the embedded tables with those of the library, token by token.
func TestTablesAreThoseOfTheLoader(t *testing.T) {
	for encoding, table := range tables {
		want, err := loader.NewOfflineLoader().LoadTiktokenBpe(encoding + ".tiktoken")
		if err != nil {
			t.Fatal(err)
		}
		if *update {
			table = string(tableOf(t, want))
			if err := os.WriteFile(encoding+".tokens", []byte(table), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got := make(map[string]int)
		if err := readRanks(table, got); err != nil {
			t.Error(err)
		}
		if !maps.Equal(got, want) || len(got) == 0 {
			t.Errorf("%s: %d tokens are not the %d of the library", encoding, len(got), len(want))
		}
	}
}

// tableOf writes ranks as readRanks reads them. Ranks must begin at 0 and have no gaps.
func tableOf(t *testing.T, ranks map[string]int) []byte {
	t.Helper()
	tokens := make([]string, len(ranks))
	for token, rank := range ranks {
		tokens[rank] = token
	}
	var table bytes.Buffer
	for rank, token := range tokens {
		if token == "" || len(token) > math.MaxUint8 {
			t.Fatalf("the token of rank %d has %d bytes", rank, len(token))
		}
		table.WriteByte(byte(len(token)))
		table.WriteString(token)
	}
	return table.Bytes()
}

func TestEncodersAreBuiltFromTheirTables(t *testing.T) {
	for encoding, counter := range counters {
		if _, err := counter.tokenizer(); err != nil {
			t.Errorf("%s: %v", encoding, err)
		}
	}
}

func BenchmarkReadRanks(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if err := readRanks(o200kTable, make(map[string]int, 199_998)); err != nil {
			b.Fatal(err)
		}
	}
}
