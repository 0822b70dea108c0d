package llm

import (
	"fmt"
	"strings"
	"testing"

	"strata/history"
)

// BenchmarkRequestBytes measures encoding a request of 1 MB of text in 400 messages, and of one image of 1.9 MB.
func BenchmarkRequestBytes(b *testing.B) {
	var long []Entry
	for i := range 400 {
		s := strings.Repeat(fmt.Sprintln("line", i), 250)
		if i%2 == 0 {
			long = append(long, user(s))
		} else {
			long = append(long, assistant(s))
		}
	}
	picture := history.Block{Type: history.BlockImage, MIME: "image/png", Data: make([]byte, 1_900_000)}
	for name, entries := range map[string][]Entry{"text": long, "picture": {message(history.RoleUser, picture)}} {
		req := Request{Entries: entries, MaxOutput: 100}
		model := Model{ID: "m", Vision: true}
		b.Run("anthropic/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				anthropicBody(req, model, dialectOf(ProviderConfig{Kind: Anthropic}, model))
			}
		})
		b.Run("openai/"+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				openAIBody(req, model, dialectOf(ProviderConfig{Kind: OpenAI}, model))
			}
		})
	}
}
