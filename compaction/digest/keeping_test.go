package digest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/history"
)

// holdsAll reports the texts that a digest lacks.
func holdsAll(t *testing.T, digest string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(digest, text) {
			t.Errorf("%q is missing:\n%s", text, digest)
		}
	}
}

func TestP17RepetitiveLinesGiveWayToDecisionsAndNextSteps(t *testing.T) {
	var log strings.Builder
	for i := range 14 {
		fmt.Fprintf(&log, "[debug] tick %d\n", i)
	}
	digest := digestOf("", 120,
		user("Add sessions to the login service."),
		assistant("I stored the token in local storage.\n"+log.String()),
		user("Tokens in local storage can be read by scripts, so I reverted it."),
		message(history.RoleTool, log.String()),
		assistant("Next: implement refresh tokens.\n"+log.String()),
		user("Is it still open whether the old clients need them?"),
		assistant("Nothing in the code says so."))
	holdsAll(t, digest, "I reverted it", "implement refresh tokens", "old clients")
	if n := strings.Count(digest, "tick"); n > 1 {
		t.Errorf("%d lines of the log:\n%s", n, digest)
	}
}

// pastOf returns a decision with a later one that takes it back, and what was said around both.
func pastOf(proposal, decision, done, reversal string) []Message {
	messages := []Message{user("Speed up the nightly import of the readings from all stations."), assistant(proposal), user(decision), assistant(done)}
	for i := range 6 {
		messages = append(messages, user("go on"), assistant(fmt.Sprintf("I looked at the station %d and there is nothing special.", i)))
	}
	return append(messages, user(reversal), assistant("Fine with me."))
}

func TestReversalsReplaceTheirDecisions(t *testing.T) {
	for name, c := range map[string]struct{ proposal, decision, done, reversal, gone, stays string }{
		"by name": {
			"We could cache rows in redis or read ahead.", "let's cache the rows in redis", "Done.",
			"Decision: read ahead with two workers. Forget redis.", "cache the rows", "read ahead with two workers",
		},
		"by option": {
			"Two options: (a) a lock on the table, (b) a queue with one writer. The lock is smaller.", "let's do (a)", "The lock is in place.",
			"The lock goes out again, we go with the queue and one writer.", "let's do (a)", "we go with the queue",
		},
		"in German": {
			"Wir könnten die Zeilen in Redis zwischenspeichern.", "dann nehmen wir Redis", "Erledigt.",
			"Vergiss Redis, wir nehmen lieber zwei Leser mit Vorauslesen.", "dann nehmen wir Redis", "zwei Leser mit Vorauslesen",
		},
		"in French": {
			"On pourrait garder les lignes dans redis.", "on prend redis pour les lignes", "Fait.",
			"Oublie redis, on prend plutôt deux lecteurs.", "on prend redis", "deux lecteurs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			digest := digestOf("", 300, pastOf(c.proposal, c.decision, c.done, c.reversal)...)
			holdsAll(t, digest, c.stays)
			if strings.Contains(digest, c.gone) {
				t.Errorf("the decision stays:\n%s", digest)
			}
		})
	}
}

// The decision that is taken back can be in an earlier digest.
func TestReversalsReplaceDecisionsOfEarlierDigests(t *testing.T) {
	first := digestOf("", 300, pastOf("We could cache rows.", "let's cache the rows in redis", "Done.", "ok")...)
	holdsAll(t, first, "cache the rows in redis")
	second := digestOf(first, 300, user("then scrap redis, we read ahead with two workers instead"), assistant(strings.Repeat("Fine with me. ", 60)))
	holdsAll(t, second, "we read ahead with two workers")
	if strings.Contains(second, "cache the rows") {
		t.Errorf("the decision stays:\n%s", second)
	}
}

func TestUsersWeighMoreThanQuotedDocumentation(t *testing.T) {
	const documentation = `

The Reader must never be used after Close and always returns an error if the connection was decided to be closed by the peer.

If ReadTimeout is 0, the value of IdleTimeout is used. Callers should not rely on the order of http2Frame values, see https://example.org/spec#frames.

> Do not use more than 3 connections in FrameWriter.`
	var messages []Message
	for i, rule := range []string{
		"please don't touch anything under internal/billing, that's frozen until the 14th",
		"Bitte nie die Tabelle der Zähler ändern.",
		"Il ne faut jamais supprimer les fichiers bruts.",
		"every log line must carry the job id",
	} {
		messages = append(messages, user(rule), assistant(fmt.Sprintf("Understood, step %d.", i)+strings.Repeat(documentation, 3)))
	}
	digest := digestOf("", 150, messages...)
	holdsAll(t, digest, "internal/billing", "Tabelle der Zähler", "fichiers bruts", "job id")
	for _, quoted := range []string{"Reader", "ReadTimeout", "http2Frame", "FrameWriter", "example.org"} {
		if strings.Contains(digest, quoted) {
			t.Errorf("%s is kept:\n%s", quoted, digest)
		}
	}
}

func TestTheGoalIsNoGreeting(t *testing.T) {
	for _, greeting := range []string{"Moin!", "hi there :)", "Bonjour !", "good morning", "¡Hola! ¿Qué tal?", "おはよう"} {
		digest := digestOf("", 200, user(greeting), assistant("Hello! "+strings.Repeat("Nice to meet you. ", 20)),
			user("The invoices of March have the wrong currency for all Swiss customers."), assistant(strings.Repeat("I look. ", 40)))
		if !strings.HasPrefix(digest, "Goal: The invoices of March") {
			t.Errorf("%s:\n%s", greeting, digest)
		}
	}
}

func TestARuleStaysWithItsSubject(t *testing.T) {
	digest := digestOf("", 200, append(long(20), user("The bucket gs://raw-data is the archive. Read only, nothing may ever be deleted there."), assistant(strings.Repeat("Noted. ", 50)))...)
	holdsAll(t, digest, "The bucket gs://raw-data is the archive. Read only, nothing may ever be deleted there.")
}

func TestOutputs(t *testing.T) {
	var log []string
	for i := range 40 {
		log = append(log, fmt.Sprintf("2026-05-09T02:00:%02d.117Z INFO http request path=/v1/gate/%d status=200", i, i*37))
		if i%7 == 3 {
			log = append(log, fmt.Sprintf("2026-05-09T02:00:%02d.118Z WARN gate request failed, will retry attempt=%d", i, i))
		}
	}
	log = slices.Insert(log, 20, `2026-05-09T02:00:20.119Z ERROR ledger write job=exp-77 err="disk quota exceeded on /var/ledger"`)
	digest := digestOf("", 300, user("Here is the log of last night, one export is missing.\n"+strings.Join(log, "\n")), assistant(strings.Repeat("I look. ", 40)))
	holdsAll(t, digest, `ERROR ledger write job=exp-77 err="disk quota exceeded on /var/ledger"`)
	if strings.Contains(digest, "2026-05-09") || strings.Contains(digest, "INFO") || strings.Count(digest, "will retry") > 1 {
		t.Errorf("%s", digest)
	}
}

func TestAFailureKeepsItsPlace(t *testing.T) {
	tests := strings.Repeat("=== RUN   TestQueueIndex\n--- PASS: TestQueueIndex (0.07s)\nok  \tshop/internal/queue\t4.2s\n", 1)
	for i := range 12 {
		tests += fmt.Sprintf("=== RUN   TestQueue%c\n--- PASS: TestQueue%c (0.0%ds)\n", 'A'+i, 'A'+i, i)
	}
	tests += "E   AssertionError: expected 100 intervals, got 96\nshop/tests/test_dst.py:33: AssertionError\n"
	digest := digestOf("", 200, user("Please run the tests of the shop."), assistant(""), message(history.RoleTool, tests), assistant("One of them fails."))
	holdsAll(t, digest, "expected 100 intervals, got 96", "shop/tests/test_dst.py:33")
}

// Text without anything that names or decides is better than no digest: a compaction without one fails.
func TestDigestOfLooseTextIsNotEmpty(t *testing.T) {
	if digest := digestOf("", 100, user("hm"), assistant("Well.\n\n"+strings.Repeat("The weather is fine in the mountains. ", 9))); !strings.Contains(digest, "weather") {
		t.Errorf("%q", digest)
	}
}

// Of lines that differ in their numbers only, one is kept if there is nothing else.
func TestDigestOfRepetitiveTextIsNotEmpty(t *testing.T) {
	var list strings.Builder
	for i := range 20 {
		fmt.Fprintf(&list, "Part %d lives in pkg/topic/file%d.go.\n", i, i)
	}
	for name, messages := range map[string][]Message{
		"prompts": {user(list.String()), assistant(list.String())},
		"tool":    {message(history.RoleTool, list.String())},
		"code":    {user("```\n" + list.String() + "```")},
		"quoted":  {user("> " + strings.ReplaceAll(list.String(), "\n", "\n> "))},
	} {
		if digest := digestOf("", 200, messages...); digest == "" || strings.Count(digest, "lives in") > 4 {
			t.Errorf("%s: %q", name, digest)
		}
	}
}

func TestPassages(t *testing.T) {
	m := user("It fails here:\n\n```go\nfunc f() {\n}\n```\nSee the log\na=1 b=2\na=2 b=3\na=3 b=4\na=5 b=6\nwhat now?\n\n> quoted\n\n1. first\n2. second\nread({\"path\":\"a.go\"})")
	var got []string
	for _, p := range passages(&m) {
		got = append(got, fmt.Sprintf("%d%t %s", p.form, p.lead, p.lines[0]))
	}
	want := []string{"0true It fails here:", "2false func f() {", "0false See the log", "1false a=1 b=2", "0false what now?", "3false > quoted", "0false 1. first", `4false read({"path":"a.go"})`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// The work for a history grows with its size, also if it is hostile.
func TestDigestOfHugeMessages(t *testing.T) {
	for name, text := range map[string]string{
		"one word":      strings.Repeat("a", 1<<20),
		"one line":      strings.Repeat("forget x1 ", 1<<17),
		"sentences":     strings.Repeat("Forget the x1, we use y2. ", 1<<15),
		"lines":         strings.Repeat("error: x y z\n", 1<<16),
		"backticks":     strings.Repeat("`", 1<<20),
		"fences":        strings.Repeat("```\n", 1<<18),
		"no characters": strings.Repeat("\xff\xfe ", 1<<18),
	} {
		for _, role := range []history.Role{history.RoleUser, history.RoleAssistant, history.RoleTool} {
			m := Message{Role: role, Text: text, Failed: role == history.RoleTool}
			if digest := digestOf("", 300, m); counter.Count(digest) > 300 {
				t.Errorf("%s: %d tokens", name, counter.Count(digest))
			}
		}
	}
}
