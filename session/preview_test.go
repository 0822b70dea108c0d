package session

import (
	"strings"
	"testing"

	"strata/history"
	"strata/session/assembly"
)

// A preview and the budget are those of the next request before the first prompt too: with the tools, and with the guide to
// them.
func TestAPreviewHasTheSessionsTools(t *testing.T) {
	a := acting(t)
	preview := func(tools []Tool) (text string, counted int) {
		t.Helper()
		built, err := answerOf(func(reply func(assembly.Assembled, error)) { a.Preview(tools, reply) })
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range built.Messages {
			text += (&history.Message{Blocks: m.Content}).PlainText() + "\n"
		}
		for _, tool := range built.Tools {
			text += tool.Name + "\n"
		}
		return text, built.Tokens
	}
	before, counted := preview(nil)
	own, _ := preview([]Tool{})
	breakdown, err := answerOf(a.Accounts().Breakdown)
	if err != nil || breakdown.Used != counted {
		t.Errorf("the breakdown counts %d tokens, the preview %d: %v", breakdown.Used, counted, err)
	}
	result := a.prompt("go", nil)
	c := a.asked()
	c.end("done")
	if r := <-result; r.err != nil {
		t.Fatal(r.err)
	}
	for _, want := range []string{"You can work in the user's workspace with tools", "read_file"} {
		if !strings.Contains(before, want) {
			t.Errorf("the preview lacks %q:\n%s", want, before)
		}
		if strings.Contains(own, want) {
			t.Errorf("the preview of a request with a frontend's own tools, none, has %q", want)
		}
	}
}
