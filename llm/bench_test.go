package llm

import (
	"fmt"
	"strings"
	"testing"

	"strata/history"
)

// BenchmarkRequestBytes measures encoding a request of 1 MB of text in 400 messages, of one image of 1.9 MB, a step of a
// turn, and the next request of a conversation after so many exchanges, with and without the beginning that the one before left.
func BenchmarkRequestBytes(b *testing.B) {
	picture := history.Block{Type: history.BlockImage, MIME: "image/png", Data: make([]byte, 1_900_000)}
	model := Model{ID: "m", Vision: true}
	encode := map[string]func(Request) ([]byte, error){
		"anthropic": func(r Request) ([]byte, error) {
			return anthropicBody(r, model, dialectOf(ProviderConfig{Kind: Anthropic}, model))
		},
		"openai": func(r Request) ([]byte, error) {
			return openAIBody(r, model, dialectOf(ProviderConfig{Kind: OpenAI}, model))
		},
	}
	for wire, body := range encode {
		run := func(name string, encode func()) {
			b.Run(wire+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					encode()
				}
			})
		}
		run("text", func() { body(Request{Entries: talk(200, 250), MaxOutput: 100}) })
		run("picture", func() { body(Request{Entries: []Entry{message(history.RoleUser, picture)}, MaxOutput: 100}) })
		for _, steps := range []int{5, 60} {
			entries := turnOf(steps)
			var kept Encoded
			body(Request{Entries: entries[:len(entries)-2], Tools: []Tool{{Name: "a"}}, MaxOutput: 100, Encoded: &kept})
			before := kept.kept
			run(fmt.Sprint("step ", steps), func() {
				kept.kept = before
				body(Request{Entries: entries, Tools: []Tool{{Name: "a"}}, MaxOutput: 100, Encoded: &kept})
			})
		}
		for _, exchanges := range []int{20, 200, 350, 2000} {
			entries := append(talk(exchanges, 40), user("go on"))
			run(fmt.Sprint(exchanges, "/anew"), func() { body(Request{Entries: entries, MaxOutput: 100}) })
			var kept Encoded
			body(Request{Entries: entries[:len(entries)-2], MaxOutput: 100, Encoded: &kept})
			before := kept.kept
			run(fmt.Sprint(exchanges, "/kept"), func() {
				kept.kept = before
				body(Request{Entries: entries, MaxOutput: 100, Encoded: &kept})
			})
		}
	}
}

// turnOf returns a turn of so many steps, each with a result of 20 KB.
func turnOf(steps int) []Entry {
	entries := []Entry{user("go on")}
	for i := range steps {
		id := fmt.Sprint("tc_", i)
		entries = append(entries, message(history.RoleAssistant, call(id)), message(history.RoleTool, result(id, strings.Repeat("line of a file\n", 1400))))
	}
	return entries
}

// talk returns so many exchanges, each message with so many lines.
func talk(exchanges, lines int) (entries []Entry) {
	for i := range exchanges {
		s := strings.Repeat(fmt.Sprintln("line", i), lines)
		entries = append(entries, user(s), assistant(s))
	}
	return entries
}
