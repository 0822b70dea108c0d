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
	O200k:  newCounter(O200k, o200kTable, 199_998, o200kPretoken),
	CL100k: newCounter(CL100k, cl100kTable, 100_256, cl100kPretoken),
}

func newCounter(encoding, table string, ranks int, pretoken func(string) int) *Counter {
	return &Counter{tokenizer: sync.OnceValues(func() (*tokenizer, error) {
		return buildTokenizer(encoding, table, ranks, pretoken)
	})}
}

// buildTokenizer returns the tokenizer of an encoding with n ranks.
//
// The constructor of the library derives two more tables from the given one, for decoding, which would triple the memory.
// It therefore receives an empty table, which is filled afterwards.
func buildTokenizer(encoding, table string, n int, pretoken func(string) int) (*tokenizer, error) {
	ranks := make(map[string]int, n)
	bpe, err := tiktoken.NewCoreBPE(ranks, nil, everything)
	if err != nil {
		return nil, fmt.Errorf("build encoding %s: %w", encoding, err)
	}
	if err := readRanks(table, ranks); err != nil {
		return nil, fmt.Errorf("load encoding %s: %w", encoding, err)
	}
	if len(ranks) != n {
		return nil, fmt.Errorf("load encoding %s: %d tokens, want %d", encoding, len(ranks), n)
	}
	return &tokenizer{pretoken, ranks, remembering(tiktoken.NewTiktoken(bpe, nil, nil).EncodeOrdinary)}, nil
}

// everything is the pattern by which the library splits texts into pre-tokens. It receives only texts that are one.
const everything = `(?s).+`

// remembering returns a function that counts the tokens which encode returns. Texts repeat their identifiers and rare words,
// so it remembers the recent counts, which halves the time of a count.
func remembering(encode func(string) []int) func(pretoken string) int {
	var recent recent
	return func(pretoken string) int {
		return recent.count(pretoken, func(text string) (n int, exact bool) { return len(encode(text)), true })
	}
}

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
