package bench

import (
	"os"
	"strings"
	"testing"

	"github.com/pkoukk/tiktoken-go"
	loader "github.com/pkoukk/tiktoken-go-loader"

	"strata/tokens"
)

const (
	tokenRounds = 3
	textSize    = 1 << 20
	letterSize  = 16 << 10 // for the bare library, whose time for a repeated letter is quadratic
)

// measureTokens measures the bytes counted per second of processor time.
func measureTokens(b *testing.B) []row {
	counter := tokens.For(tokens.O200k)
	counter.Count("the table is built")
	tiktoken.SetBpeLoader(loader.NewOfflineLoader())
	library := must(tiktoken.GetEncoding(tokens.O200k))(b)

	prose := "The quick brown fox jumps over the lazy dog, and it doesn't care.\n"
	code := "func main() {\n\tfmt.Println(\"hello\", x+1)\n}\n"
	const of = "the bare library"
	compare := func(part string, librarySize int) pairs {
		text, round := strings.Repeat(part, textSize/len(part)+1)[:textSize], 0
		return takeTurns(tokenRounds,
			rate(b, text, func(text string) int { round++; return counter.Count(text[round:]) }), // a text that it does not remember
			rate(b, text[:librarySize], func(text string) int { return len(library.EncodeOrdinary(text)) }))
	}
	letter := compare("a", letterSize)
	return []row{
		compare(prose, textSize).ratio("counting tokens of prose", megabytes, of, 0),
		compare(code, textSize).ratio("counting tokens of code", megabytes, of, 0),
		least(alone("counting tokens of 1 MiB of one letter", megabytes, median(letter.ours), 2e6)).
			versus(median(letter.theirs), of+", on 16 KiB of it"),
	}
}

func least(r row) row {
	r.atLeast = true
	return r
}

// rate measures bytes of text per second of this process's processor time.
func rate(b *testing.B, text string, count func(string) int) func() float64 {
	return func() float64 {
		computed := computed(b, os.Getpid())
		if count(text) == 0 {
			b.Fatal("nothing counted")
		}
		return float64(len(text)) / (computed() / 1e9)
	}
}
