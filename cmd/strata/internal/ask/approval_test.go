package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
)

// user types lines for a test.
type user struct {
	typed chan string // closed: the end of the input
}

func (u *user) Line(ctx context.Context, show func()) (string, error) {
	show()
	select {
	case text, more := <-u.typed:
		if !more {
			return "", io.EOF
		}
		return text, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// asking is an asker with its user.
type asking struct {
	*asker
	user       *user
	out, notes bytes.Buffer
	interrupt  context.CancelFunc // ends the command
}

func newAsking(t *testing.T, asJSON bool) *asking {
	a := &asking{user: &user{make(chan string)}}
	command, interrupt := context.WithCancel(t.Context())
	a.interrupt = interrupt
	a.asker = newAsker(command, a.user, &reply{out: &a.out, notes: &a.notes, json: asJSON, session: "sess_1"})
	return a
}

// response is the response to a question: a result as JSON, or an error.
type response struct {
	result string
	err    error
}

// asks begins a question and waits until it is shown.
func (a *asking) asks(t *testing.T, ctx context.Context) <-chan response {
	given := make(chan response, 1)
	go func() {
		result, err := a.asked(ctx, params(`{"toolCallId":"tc_1","title":"deploy"}`, offered))
		raw, encodeErr := json.Marshal(result)
		given <- response{string(raw), errors.Join(err, encodeErr)}
	}()
	synctest.Wait()
	return given
}

const (
	once      = `{"outcome":{"optionId":"o1","outcome":"selected"}}`
	reject    = `{"outcome":{"optionId":"o6","outcome":"selected"}}`
	cancelled = `{"outcome":{"outcome":"cancelled"}}`
)

func TestTheUserAnswersAtTheTerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		does func(a *asking, withdraw func())
		want string
		told string // at the end
	}{
		"allows":                {func(a *asking, _ func()) { a.user.typed <- "y" }, once, "y/a/b/n? "},
		"mistypes":              {func(a *asking, _ func()) { a.user.typed <- "z"; a.user.typed <- "y" }, once, "words can follow only a rejection. y/a/b/n? "},
		"ends the input":        {func(a *asking, _ func()) { close(a.user.typed) }, reject, "y/a/b/n? \n[deploy: rejected: the input has ended]\n"},
		"interrupts":            {func(a *asking, _ func()) { a.interrupt() }, cancelled, "y/a/b/n? \n"},
		"answers in the editor": {func(_ *asking, withdraw func()) { withdraw() }, cancelled, "y/a/b/n? \n[deploy: no answer is needed any more: another client has answered, or the call has ended]\n"},
		"receives text first": {func(a *asking, _ func()) {
			a.show.notified("session/update", json.RawMessage(`{"update":{"sessionUpdate":"notice","title":"full"}}`))
			a.user.typed <- "y"
		}, once, "y/a/b/n? \n[full]\n"},
	} {
		synctest.Test(t, func(t *testing.T) {
			a := newAsking(t, false)
			ctx, withdraw := context.WithCancel(t.Context())
			given := a.asks(t, ctx)
			tt.does(a, withdraw)
			if got := <-given; got.result != tt.want || got.err != nil {
				t.Errorf("%s: got %v", name, got)
			}
			if told := a.notes.String(); !strings.HasPrefix(told, "[deploy needs your approval]\n") || !strings.HasSuffix(told, tt.told) {
				t.Errorf("%s: told %q", name, told)
			}
			a.interrupt()
			withdraw()
		})
	}
}

// A second question is shown when the first one has ended, and never if it is withdrawn before.
func TestOneQuestionAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, false)
		defer a.interrupt()
		ctx, withdraw := context.WithCancel(t.Context())
		first, second, third := a.asks(t, t.Context()), a.asks(t, ctx), a.asks(t, t.Context())
		if n := strings.Count(a.notes.String(), "needs your approval"); n != 1 {
			t.Fatalf("%d questions are shown", n)
		}
		withdraw()
		if got := <-second; !errors.Is(got.err, context.Canceled) {
			t.Errorf("the second question: %v", got)
		}
		a.user.typed <- "y"
		if got := <-first; got.result != once {
			t.Errorf("the first question: %v", got)
		}
		a.user.typed <- "n"
		if got := <-third; got.result != reject {
			t.Errorf("the third question: %v", got)
		}
		if n := strings.Count(a.notes.String(), "needs your approval"); n != 2 {
			t.Errorf("%d questions were shown", n)
		}
	})
}

// With --json, a question and its answer are lines, and the user is asked on standard error.
func TestQuestionsAsJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsking(t, true)
		defer a.interrupt()
		given := a.asks(t, t.Context())
		a.user.typed <- "n not now"
		<-given
		want := `{"permissionRequest":{"toolCall":{"toolCallId":"tc_1","title":"deploy"},"options":` + offered + `},"sessionId":"sess_1"}
{"permissionOutcome":{"_meta":{"strata":{"message":"not now"}},"outcome":{"optionId":"o6","outcome":"selected"},"toolCallId":"tc_1"},"sessionId":"sess_1"}
`
		if got := a.out.String(); got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
		if !strings.Contains(a.notes.String(), "  y  Allow once\n") {
			t.Errorf("the user is told %q", a.notes.String())
		}
		a.show.end(json.RawMessage(`{"stopReason":"cancelled"}`))
		ended := a.out.Len()
		over, cancel := context.WithCancel(t.Context())
		late := a.asks(t, over)
		cancel()
		<-late
		if a.out.Len() != ended {
			t.Errorf("after the result: %s", a.out.String()[ended:])
		}
	})
}

// A question that cannot be read is an error, which leaves it to other clients.
func TestAQuestionThatCannotBeReadIsNotAnswered(t *testing.T) {
	a := newAsking(t, false)
	defer a.interrupt()
	if result, err := a.asked(t.Context(), json.RawMessage(`{}`)); err == nil {
		t.Errorf("got %v", result)
	}
	if result, err := rejected(json.RawMessage(`{}`), a.show); err == nil {
		t.Errorf("got %v", result)
	}
}
