package keyboard

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/leak"
)

func TestMain(m *testing.M) { leak.Main(m) }

// typing starts a keyboard on which a test types.
func typing(t *testing.T, discard func()) (k *Keyboard, user net.Conn) {
	user, in := net.Pipe()
	k = newKeyboard(in, discard, func() bool { return in.SetReadDeadline(time.Now()) == nil })
	t.Cleanup(k.Close)
	return k, user
}

func none() {}

func TestLines(t *testing.T) {
	long := strings.Repeat("x", 2*maxLine)
	for typed, want := range map[string]line{
		"y\n":               {text: "y"},
		"n not this\r\n":    {text: "n not this"},
		"\n":                {},
		long + "\nnext\n":   {text: long[:maxLine]},
		"":                  {err: io.EOF},
		"y":                 {err: io.EOF},
		long:                {err: io.EOF},
		"first\nsecond\n\n": {text: "first"},
	} {
		k := newKeyboard(strings.NewReader(typed), none, func() bool { return true })
		text, err := k.Line(t.Context(), none)
		if text != want.text || !errors.Is(err, want.err) {
			t.Errorf("%.20q: %.20q with %d bytes, %v", typed, text, len(text), err)
		}
		k.Close()
	}
}

// A line that the user types after a question was withdrawn is no answer to the next question.
func TestALineThatWasGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		discarded := 0
		k, user := typing(t, func() { discarded++ })
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 1)
		go func() {
			_, err := k.Line(ctx, none)
			given <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-given; !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		io.WriteString(user, "late\n")
		synctest.Wait()
		next := make(chan string, 1)
		go func() {
			text, err := k.Line(t.Context(), none)
			if err != nil {
				t.Error(err)
			}
			next <- text
		}()
		synctest.Wait()
		io.WriteString(user, "right\n")
		if got := <-next; got != "right" || discarded != 2 {
			t.Errorf("got %q; typed text was discarded %d times", got, discarded)
		}
	})
}

// A read that was given up goes on for the next question, and ends with the keyboard.
func TestAReadOutlivesItsQuestionButNotTheKeyboard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, user := typing(t, none)
		over, cancel := context.WithCancel(t.Context())
		cancel()
		for range 3 {
			if _, err := k.Line(over, none); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		}
		next := make(chan string, 1)
		go func() {
			text, _ := k.Line(t.Context(), none)
			next <- text
		}()
		synctest.Wait()
		io.WriteString(user, "one\n")
		if got := <-next; got != "one" {
			t.Errorf("got %q", got)
		}
		if _, err := k.Line(over, none); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	})
}
