package tokens

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/pkoukk/tiktoken-go"
	"github.com/pkoukk/tiktoken-go-loader/assets"
)

// counters holds the shared counters, created with the number of ranks in each table.
// A table is large (o200k_base: 8.5 MB of heap, 40 ms to build). It is built at the first count and kept.
var counters = map[string]*Counter{
	O200k:  newCounter(O200k, 199_998),
	CL100k: newCounter(CL100k, 100_256),
}

func newCounter(encoding string, ranks int) *Counter {
	return &Counter{encoder: sync.OnceValues(func() (encoder, error) {
		return buildEncoder(encoding, ranks)
	})}
}

// building guards the tokenizer's process-wide loader.
var building sync.Mutex

// buildEncoder returns the tokenizer of an encoding with n ranks.
//
// The constructor of the tokenizer derives two more tables from the given one, for decoding, which would triple the
// memory. It therefore receives an empty table, which is filled afterwards.
func buildEncoder(encoding string, n int) (encoder, error) {
	building.Lock()
	defer building.Unlock()
	ranks := make(map[string]int, n)
	tiktoken.SetBpeLoader(loaded(ranks))
	enc, err := tiktoken.GetEncoding(encoding)
	if err != nil {
		return nil, fmt.Errorf("build encoding %s: %w", encoding, err)
	}
	if err := readRanks(encoding, ranks); err != nil {
		return nil, fmt.Errorf("load encoding %s: %w", encoding, err)
	}
	return enc, nil
}

// loaded is a loader that returns itself as the table, for any name. It never opens a file or a connection.
type loaded map[string]int

func (l loaded) LoadTiktokenBpe(string) (map[string]int, error) { return l, nil }

// readRanks fills ranks from the embedded table, which has one line per token: its bytes in base64 and its rank.
// It reads line by line, so that only the table uses much memory.
func readRanks(encoding string, ranks map[string]int) error {
	file, err := assets.Assets.Open(encoding + ".tiktoken")
	if err != nil {
		return err
	}
	defer file.Close()
	var token []byte
	var names arena
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		text, number, _ := bytes.Cut(lines.Bytes(), []byte(" "))
		if token, err = base64.StdEncoding.AppendDecode(token[:0], text); err != nil {
			return err
		}
		rank, err := strconv.Atoi(string(number))
		if err != nil {
			return err
		}
		ranks[names.keep(token)] = rank
	}
	return lines.Err()
}

// arena allocates strings in shared chunks. Without it a table would need 200,000 allocations of a few bytes.
type arena struct{ chunk *strings.Builder }

// arenaBytes is the size of a chunk, in bytes.
const arenaBytes = 64 << 10

func (a *arena) keep(text []byte) string {
	if a.chunk == nil || a.chunk.Cap()-a.chunk.Len() < len(text) {
		a.chunk = new(strings.Builder)
		a.chunk.Grow(max(arenaBytes, len(text)))
	}
	from := a.chunk.Len()
	a.chunk.Write(text)
	return a.chunk.String()[from:]
}
