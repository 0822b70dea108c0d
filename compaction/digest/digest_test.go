package digest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/leak"
	"strata/tokens"
)

func TestMain(m *testing.M) { leak.Main(m) }

var counter = tokens.For(tokens.O200k)

// message returns a message of a conversation.
func message(role history.Role, text string) Message { return Message{Role: role, Text: text} }

func user(text string) Message      { return message(history.RoleUser, text) }
func assistant(text string) Message { return message(history.RoleAssistant, text) }

// long returns n exchanges with some text in them.
func long(n int) []Message {
	var messages []Message
	for i := range n {
		messages = append(messages, user(fmt.Sprintf("question %d", i)), assistant(fmt.Sprintf("answer %d: %s", i, strings.Repeat("and so on ", 30))))
	}
	return messages
}

func digestOf(previous string, budget int, messages ...Message) string {
	return Of(&Conversation{Previous: previous, Messages: messages}, counter, budget)
}

func TestDigest(t *testing.T) {
	padding := strings.Repeat("nothing to see here and that for long. ", 60)
	failing := message(history.RoleTool, "--- FAIL: TestLoad\nload.go:12: error: no such file\nload.go:13: error: no such file\n")
	messages := []Message{
		user("Make the loader read gzip files. Don't touch the API."),
		assistant("I look into loader/load.go first.\n" + padding),
		failing,
		assistant("We decided to wrap the reader in `openAny`. It works now.\n" + padding),
		user("Should it also read zstd files?"),
		assistant(""),
	}
	const want = `Goal: Make the loader read gzip files.
Constraints:
- Don't touch the API.
Decisions:
- We decided to wrap the reader in ` + "`openAny`" + `.
Open:
- Should it also read zstd files?
Failures:
- FAIL: TestLoad
- load.go:13: error: no such file
- 1 empty replies
Findings:
- I look into loader/load.go first.
- nothing to see here and that for long.`
	if got := digestOf("", 500, messages...); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDigestKeepsItsBudget(t *testing.T) {
	for budget := 1; budget < 300; budget += 37 {
		got := digestOf("Notes of old.\nDecisions:\n- We decided to go on.", budget, long(40)...)
		if counter.Count(got) > budget {
			t.Errorf("%d tokens for a budget of %d", counter.Count(got), budget)
		}
	}
}

func TestDigestIsDeterministic(t *testing.T) {
	var messages []Message
	for i := range 30 {
		messages = append(messages,
			user(fmt.Sprintf("Never write field F%d to the log.", i)),
			assistant(fmt.Sprintf("I put `check%d` into internal/load/stage%d.go:%d.", i, i, i)),
			message(history.RoleTool, fmt.Sprintf("%serror: block B%d is damaged\n", strings.Repeat("reading the next block\n", 20), i)))
	}
	first := digestOf("", 400, messages...)
	for range 5 {
		if again := digestOf("", 400, messages...); again != first {
			t.Fatalf("another digest:\n%s\n\n%s", first, again)
		}
	}
}

// A digest of a digest and nothing new has the same facts.
func TestDigestCarriesOver(t *testing.T) {
	first := digestOf("", 400, user("We decided to use Go 1.26 in cmd/tool/main.go."), assistant(strings.Repeat("Fine. ", 100)), user("It is unclear whether that is fast enough."), assistant("Error: build failed in step 3."))
	second := digestOf(first, 400, user(strings.Repeat("go on ", 100)))
	for _, fact := range []string{"use Go 1.26", "cmd/tool/main.go", "fast enough", "build failed in step 3"} {
		if !strings.Contains(first, fact) || !strings.Contains(second, fact) {
			t.Errorf("%q is missing:\n%s\n\n%s", fact, first, second)
		}
	}
}

// Notes by a model have priority over everything found by words.
func TestDigestKeepsAModelsNotes(t *testing.T) {
	notes := "The importer is rewritten.\n\n* Parsing is done\n* Writing is next"
	got := digestOf(notes, 300, long(20)...)
	for _, line := range []string{"The importer is rewritten.", "Parsing is done", "Writing is next"} {
		if !strings.Contains(got, line) {
			t.Errorf("%q is missing:\n%s", line, got)
		}
	}
}

func TestDigestReportsFailedTools(t *testing.T) {
	failed := message(history.RoleTool, "nothing found\nat all")
	failed.Failed = true
	if got := digestOf("", 300, append(long(20), failed)...); !strings.Contains(got, "nothing found") {
		t.Errorf("%s", got)
	}
}

// Logs repeat an error with different numbers.
func TestDigestOfLogs(t *testing.T) {
	var messages []Message
	for i := range 30 {
		messages = append(messages, message(history.RoleTool, strings.Repeat("error: connection 4711 lost\n", 50)), assistant(strings.Repeat("trying again ", i)))
	}
	if got := digestOf("", 500, messages...); strings.Count(got, "connection") != 1 {
		t.Errorf("%s", got)
	}
}

func TestClipped(t *testing.T) {
	for text, want := range map[string]string{
		"short": "short",
		"This is a sentence that goes on for quite some time before it ends": "This is a sentence that goes on for…",
		strings.Repeat("é", 30): strings.Repeat("é", 20) + "…",
	} {
		if got := clipped(text, 40); got != want {
			t.Errorf("%q", got)
		}
	}
}

func TestMentions(t *testing.T) {
	for text, want := range map[string]bool{
		"in lib/x.c.": true, "lib/x.c": true, "lib/x.cpp": false, "my/lib/x.c": false, "`lib/x.c` is": true, "lib": false,
	} {
		if mentions(text, "lib/x.c") != want {
			t.Errorf("%q", text)
		}
	}
}

func TestDigestOfNothing(t *testing.T) {
	if got := digestOf("", 300, user(""), assistant(" "), user("...")); strings.Contains(got, "Goal") {
		t.Errorf("%q", got)
	}
	if got := digestOf("", 300); got != "" {
		t.Errorf("%q", got)
	}
}

func TestPaths(t *testing.T) {
	for term, want := range map[string]string{
		"internal/cache/lru.go": "internal/cache/lru.go",
		"lru.go:42":             "lru.go:42",
		"lru.go:42:7":           "lru.go:42",
		"lru.go:x":              "lru.go",
		"./run.sh":              "./run.sh",
		"/etc/hosts":            "/etc/hosts",
		"Makefile":              "Makefile",
		`C:\src\main.c`:         `C:\src\main.c`,
		"https://go.dev/ref":    "https://go.dev/ref",
		"and/or":                "",
		"1/2":                   "",
		"2026/01/02":            "",
		"fmt.Println":           "",
		"e.g":                   "",
		"word":                  "",
		"/":                     "",
		"..":                    "",
		"":                      "",
	} {
		got, ok := pathIn(term)
		if ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %v", term, got, ok)
		}
	}
}

func TestSentences(t *testing.T) {
	text := "# Title\n- One. Two? Three!\n\n12\nA v1.2 of a.go is out. 好。再见。"
	want := []string{"Title", "One.", "Two?", "Three!", "A v1.2 of a.go is out.", "好。", "再见。"}
	if got := slices.Collect(sentences(text)); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func FuzzDigest(f *testing.F) {
	f.Add("We decided to use tabs. Error: x/y.go failed?", "Decisions:\n- a\nFiles: b, c", 50)
	f.Add("Ä\xff error: ✓\x00", "Goal:\n\xf0\x9f", 10)
	f.Fuzz(func(t *testing.T, text, previous string, budget int) {
		got := digestOf(previous, budget, user(text), assistant(text))
		if budget > 0 && counter.Count(got) > budget {
			t.Errorf("%d tokens for %d", counter.Count(got), budget)
		}
	})
}
