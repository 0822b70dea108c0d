package loop

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"strata/history"
	"strata/session/fit"
	"strata/session/profile"
)

func loopProfile(t *testing.T) profile.Loop {
	t.Helper()
	all, err := profile.All()
	if err != nil {
		t.Fatal(err)
	}
	return all["loop"].Loop
}

func TestIterationsAreBounded(t *testing.T) {
	l := loopProfile(t)
	long := strings.Repeat("ä b\n", 5000)
	messages := []history.Message{
		{Role: history.RoleUser, Blocks: []history.Block{text(long)}},
		{Role: history.RoleAssistant, Blocks: []history.Block{text(strings.Repeat("<progress>done "+long+"</progress>", 30))}, Meta: json.RawMessage(`{"tool": "editor", "progressScore": 0.5}`)},
		{Role: history.RoleTool, Blocks: []history.Block{{Type: history.BlockToolResult, IsError: true}}},
	}
	it := iterationOf(7, messages, &l)
	if utf8.RuneCountInString(it.prompt) > l.PromptChars || utf8.RuneCountInString(it.output) > l.OutputChars {
		t.Errorf("prompt of %d, output of %d characters", utf8.RuneCountInString(it.prompt), utf8.RuneCountInString(it.output))
	}
	recent, brief := it.recent(l.RecentChars), it.brief(l.BriefChars)
	if n := utf8.RuneCountInString(recent); n > l.RecentChars || n < l.RecentChars*8/10 || !strings.HasPrefix(recent, "## Iteration 7\n\nPrompt: ä b") {
		t.Errorf("%d characters: %s", n, recent)
	}
	if n := utf8.RuneCountInString(brief); n > l.BriefChars || strings.Contains(brief, "\n") || !strings.HasPrefix(brief, "Iteration 7: ä b") {
		t.Errorf("%d characters: %s", n, brief)
	}
	for chars := range 60 {
		if n := utf8.RuneCountInString(it.recent(chars)); n > chars {
			t.Errorf("%d of %d characters", n, chars)
		}
		if n := utf8.RuneCountInString(it.brief(chars)); n > chars {
			t.Errorf("%d of %d characters in brief", n, chars)
		}
	}
	none := iterationOf(1, messages[:1], &l)
	if !strings.Contains(none.recent(l.RecentChars), "Output: (no answer)") || !strings.HasSuffix(none.brief(l.BriefChars), "(no answer)") {
		t.Errorf("%q, %q", none.recent(l.RecentChars), none.brief(l.BriefChars))
	}
}

func TestASummaryOfALoopSeesWhatTheViewKeeps(t *testing.T) {
	l := loopProfile(t)
	prompt := history.Message{Role: history.RoleUser}
	if n := utf8.RuneCountInString(Text(&prompt, strings.Repeat(" word", 1000), &l)); n != 500 {
		t.Errorf("of the prompt it sees %d characters", n)
	}
	reply := history.Message{Role: history.RoleAssistant, Meta: json.RawMessage(`{"progressMarkers": ["half of it"], "fileChanges": ["a.go"]}`)}
	seen := Text(&reply, strings.Repeat(" word", 5000), &l)
	if n := utf8.RuneCountInString(seen); n < 5000 || n > 5100 || !strings.HasSuffix(seen, "\n\nProgress: half of it\nFiles changed: a.go") {
		t.Errorf("of the reply it sees %d characters, ending %q", n, seen[len(seen)-80:])
	}
}

func TestExchangesOfATalkThatBeginsWithoutTheUser(t *testing.T) {
	var heads []history.Head
	for i, role := range []history.Role{history.RoleAssistant, history.RoleUser, history.RoleAssistant, history.RoleUser} {
		heads = append(heads, history.Head{ID: string(rune('a' + i)), Seq: int64(i + 1), Role: role})
	}
	finished, open := exchanges(fit.Conversation(history.NewLog(heads, nil).View()))
	numbers := []int{}
	for _, e := range finished {
		numbers = append(numbers, e.number)
	}
	if !slices.Equal(numbers, []int{0, 1}) || len(open) != 1 {
		t.Errorf("%v, %d open", numbers, len(open))
	}
}

// The data attached to a prompt tells of its iteration, the marks in its text do not; a summary sees both. Durations below half
// a second are not told.
func TestP08ThePromptTellsOfItsIteration(t *testing.T) {
	l := loopProfile(t)
	prompt := history.Message{
		Role: history.RoleUser, Blocks: []history.Block{text("Write <progress>what you did</progress>.")},
		Meta: json.RawMessage(`{"progressScore": 0.5, "progressMarkers": ["half of it"], "fileChanges": ["a.go"], "tool": "editor"}`),
	}
	reply := history.Message{Role: history.RoleAssistant, Blocks: []history.Block{text("Done.")}, Meta: json.RawMessage(`{"durationSeconds": 12.34}`)}
	it := iterationOf(1, []history.Message{prompt, reply}, &l)
	if want := "Progress: half of it\nFiles changed: a.go\nDone with editor, 12 s, progress score 0.5"; it.facts() != want {
		t.Errorf("%q, want %q", it.facts(), want)
	}
	if got, want := Text(&prompt, prompt.PlainText(), &l), prompt.PlainText()+"\n\nProgress: half of it\nFiles changed: a.go\nDone with editor, progress score 0.5"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	reply.Meta = json.RawMessage(`{"durationSeconds": 0.4}`)
	if it := iterationOf(1, []history.Message{reply}, &l); it.facts() != "" {
		t.Errorf("told: %q", it.facts())
	}
}
