package tokens

import (
	_ "embed" // for the tables
	"fmt"
	"sync"

	"github.com/pkoukk/tiktoken-go"
)

// The tables of tiktoken-go-loader, without its two other encodings and without base64, at a third of its size.
// TestTablesAreThoseOfTheLoader compares them, and writes them with -update.
var (
	//go:embed o200k_base.tokens
	o200kTable string
	//go:embed cl100k_base.tokens
	cl100kTable string
)

// counters holds the shared counters, created with the number of ranks in each table.
// A map of ranks is large (o200k_base: 7 MB of heap). It is built at the first count and kept.
var counters = map[string]*Counter{
	O200k:  newCounter(O200k, o200kTable, 199_998),
	CL100k: newCounter(CL100k, cl100kTable, 100_256),
}

func newCounter(encoding, table string, ranks int) *Counter {
	return &Counter{encoder: sync.OnceValues(func() (encoder, error) {
		return buildEncoder(encoding, table, ranks)
	})}
}

// building guards the tokenizer's process-wide loader.
var building sync.Mutex

// buildEncoder returns the tokenizer of an encoding with n ranks.
//
// The constructor of the tokenizer derives two more tables from the given one, for decoding, which would triple the
// memory. It therefore receives an empty table, which is filled afterwards.
func buildEncoder(encoding, table string, n int) (encoder, error) {
	building.Lock()
	defer building.Unlock()
	ranks := make(map[string]int, n)
	tiktoken.SetBpeLoader(loaded(ranks))
	enc, err := tiktoken.GetEncoding(encoding)
	if err != nil {
		return nil, fmt.Errorf("build encoding %s: %w", encoding, err)
	}
	if err := readRanks(table, ranks); err != nil {
		return nil, fmt.Errorf("load encoding %s: %w", encoding, err)
	}
	if len(ranks) != n {
		return nil, fmt.Errorf("load encoding %s: %d tokens, want %d", encoding, len(ranks), n)
	}
	return enc, nil
}

// loaded is a loader that returns itself as the table, for any name. It never opens a file or a connection.
type loaded map[string]int

func (l loaded) LoadTiktokenBpe(string) (map[string]int, error) { return l, nil }

// readRanks fills ranks from a table. The table has the tokens in the order of their ranks: the length in one byte, then
// the bytes. The strings in ranks share the memory of the table.
func readRanks(table string, ranks map[string]int) error {
	for rank := 0; table != ""; rank++ {
		end := 1 + int(table[0])
		if end > len(table) {
			return fmt.Errorf("the table ends within the token of rank %d", rank)
		}
		ranks[table[1:end]] = rank
		table = table[end:]
	}
	return nil
}
