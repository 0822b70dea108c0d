package session

import (
	"slices"
	"strings"
	"testing"

	"strata/history"
	"strata/llm"
	"strata/llm/reply"
	"strata/session/workspace"
)

// fileTexts returns the texts of a request that are neither messages nor the system part.
func fileTexts(req llm.Request) (all []string) {
	for _, e := range req.Entries {
		if e.Kind == llm.EntryContext {
			all = append(all, (&history.Message{Blocks: e.Blocks}).PlainText())
		}
	}
	return all
}

// choosing returns a session with a file of the user's choice.
func choosing(t *testing.T, name, text string, change ...func(*Deps)) *acted {
	t.Helper()
	a, _ := editing(t, "edits", change...)
	a.write(name, text)
	if _, err := answerOf(func(reply func(workspace.FileInfo, error)) {
		a.Workspace().AddFile(workspace.FileRequest{Path: name}, reply)
	}); err != nil {
		t.Fatal(err)
	}
	return a
}

// The result of an edit tells the new text of a file of the user's choice: requests after it do not tell it again. What somebody
// else changes after that is told, as a diff from the text that the edit has made.
func TestAnOwnChangeOfAUsersFileIsNotToldAgain(t *testing.T) {
	for name, eol := range map[string]string{"LF": "\n", "CRLF": "\r\n"} {
		t.Run(name, func(t *testing.T) {
			alpha := "package a\n\nfunc Alpha() {}\n" + strings.Repeat("// a line that stays\n", 60)
			a := choosing(t, "a.go", strings.ReplaceAll(alpha, "\n", eol))
			result := a.prompt("go", nil)
			first := a.asked()
			before := fileTexts(first.req)
			first.act(reply.StopToolUse, callsOf(1, editA)...)
			second := a.asked()
			if got := a.file("a.go"); !strings.Contains(got, "return 1") {
				t.Fatalf("the file is %q: %q", got, a.results())
			}
			if got := fileTexts(second.req); !slices.Equal(got, before) {
				t.Errorf("after the edit the files are\n%q\nbefore\n%q", got, before)
			}
			second.act(reply.StopToolUse, callsOf(2, `edit_file{"path":"a.go","edits":[{"old_text":"return 1","new_text":"return 2"}]}`)...)
			third := a.asked()
			if got := fileTexts(third.req); !slices.Equal(got, before) || !strings.Contains(a.file("a.go"), "return 2") {
				t.Errorf("after the next edit the files are %q", got)
			}
			third.act(reply.StopToolUse, callsOf(3, `list_files{}`)...)
			third = a.asked()
			if reason := a.checkEdit(workspace.EditRequest{Path: "a.go"}); reason != "" {
				t.Errorf("the text that the edit made does not count as shown: %s", reason)
			}
			a.write("a.go", strings.Replace(a.file("a.go"), "return 2", "return 3", 1))
			third.act(reply.StopToolUse, callsOf(4, `list_files{}`)...)
			fourth := a.asked()
			if got := fileTexts(fourth.req); len(got) != len(before)+1 || !strings.Contains(got[len(before)], "-func Alpha() int { return 2 }") || !strings.Contains(got[len(before)], "+func Alpha() int { return 3 }") {
				t.Errorf("after somebody's change the files are %q", got)
			}
			fourth.end("done")
			<-result
		})
	}
}
