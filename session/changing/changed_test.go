package changing

import (
	"context"
	"strings"
	"testing"

	"strata/filecontext"
	"strata/filecontext/change"
	"strata/session/clients"
)

// A client that has the files can make a change after the time for it: the model must read the file again.
func TestAChangeThatMayFollow(t *testing.T) {
	for said, want := range map[error]string{
		clients.ErrLate: "a.txt has not changed so far: the editor did not respond in time. ",
		clients.ErrGone: "a.txt has not changed so far: the editor's connection ended before its response. ",
		clients.ErrBusy: "Nothing was changed: a.txt is not available now",
	} {
		p := &Planned{State: func(context.Context) change.State { return change.NotDone }}
		p.Effects = []change.Effect{{Path: "a.txt"}}
		refusal := &filecontext.RefusedError{Path: "a.txt", Reason: filecontext.ReasonAway, Detail: said.Error(), Err: said}
		r, err := p.notMade(t.Context(), &change.WriteError{Path: "a.txt", Err: refusal})
		if err != nil {
			t.Fatal(err)
		}
		text := r.Content[0].Text
		if mayFollow := strings.Contains(text, "The editor may still change it"); !strings.HasPrefix(text, want) || mayFollow != strings.Contains(want, "so far") {
			t.Errorf("%v: got %q", said, text)
		}
	}
}
