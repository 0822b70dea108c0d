package servers

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/history"
	"strata/session/tools"
)

// run runs the only tool of a session on a goroutine of the mailbox.
func (s *session) run(ctx context.Context, show func(tools.Output)) (r tools.Result, err error) {
	tool := s.tools(tools.MaxTools)[0]
	done := make(chan struct{})
	s.box.Spawn(func() {
		defer close(done)
		r, err = tool.Run(ctx, tools.Input{CallID: "tc_1", Args: json.RawMessage(`{"n":1}`), Show: show})
	})
	<-done
	return r, err
}

func withGit(t *testing.T) (*session, *server) {
	t.Helper()
	s := newSession(t, command("git server"))
	s.opens(Opening{})
	git := s.source.all()[0]
	git.ready("log.all")
	return s, git
}

func TestTheResultOfACall(t *testing.T) {
	for name, tt := range map[string]struct {
		result Result
		err    error
		want   string
		failed bool
	}{
		"text":           {Result{Content: words("two commits")}, nil, "two commits", false},
		"an error of it": {Result{Content: words("no repository"), IsError: true}, nil, "no repository", true},
		"nothing":        {Result{}, nil, "(no output)", false},
		"no call":        {Result{}, errors.New("the server ended"), "git_server__log_all failed: the server ended", true},
		"a damaged picture": {Result{Content: []history.Block{{Type: history.BlockImage, Data: []byte("x")}}}, nil,
			"git_server__log_all failed: content[0]: not a PNG, JPEG, GIF or WebP, or damaged", true},
	} {
		s, git := withGit(t)
		git.call = func(_ context.Context, tool string, input json.RawMessage, _ func(string)) (Result, error) {
			if tool != "log.all" || string(input) != `{"n":1}` {
				t.Errorf("%s: %s was called with %s", name, tool, input)
			}
			return tt.result, tt.err
		}
		r, err := s.run(t.Context(), nil)
		if err != nil || textOf(r) != tt.want || r.IsError != tt.failed {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// The model is told of a server that does not run, which is woken.
func TestACallOfAServerThatIsDown(t *testing.T) {
	s, git := withGit(t)
	git.fails("exit code 1\nstderr of it")
	r, err := s.run(t.Context(), nil)
	want(t, "result", textOf(r), "git server is not running: exit code 1. Do without it, or try again later.")
	if !r.IsError || err != nil || git.count(&git.woken) != 1 {
		t.Errorf("%+v, %v, woken %d times", r, err, git.count(&git.woken))
	}
}

// A call goes to the server that the session uses when it runs.
func TestACallAfterTheServersChanged(t *testing.T) {
	s, _ := withGit(t)
	tool := s.tools(tools.MaxTools)[0]
	run := func() (text string) {
		done := make(chan struct{})
		s.box.Spawn(func() {
			defer close(done)
			r, _ := tool.Run(t.Context(), tools.Input{})
			text = textOf(r)
		})
		<-done
		return text
	}
	s.opens(Opening{Named: []Definition{command("git server", "--new")}})
	next := s.source.all()[1]
	next.call = func(context.Context, string, json.RawMessage, func(string)) (Result, error) {
		return Result{Content: words("of the new one")}, nil
	}
	want(t, "result", run(), "of the new one")
	s.does(s.Close)
	want(t, "result after the end", run(), "git_server__log_all was not run: it is no longer available. Do without it.")
}

// A call that did not ask, because the user trusts the server, does not go to a server that an editor has named like it.
func TestACallOfATrustedServerGoesToATrustedOne(t *testing.T) {
	trusted := command("git server")
	trusted.Trusted = true
	s := newSession(t, trusted)
	s.opens(Opening{})
	s.source.all()[0].ready("log.all")
	tool := s.tools(tools.MaxTools)[0]
	s.opens(Opening{Named: []Definition{command("git server", "--other")}})
	s.source.all()[1].call = func(context.Context, string, json.RawMessage, func(string)) (Result, error) {
		t.Error("the other server was called")
		return Result{}, nil
	}
	done := make(chan tools.Result, 1)
	s.box.Spawn(func() {
		r, _ := tool.Run(t.Context(), tools.Input{})
		done <- r
	})
	want(t, "result", textOf(<-done), "git_server__log_all was not run: it is no longer available. Do without it.")
	want(t, "trust in the next turn", s.tools(tools.MaxTools)[0].Server.Trusted, false)
}

func TestACancelledCall(t *testing.T) {
	s, git := withGit(t)
	ctx, cancel := context.WithCancel(t.Context())
	git.call = func(ctx context.Context, _ string, _ json.RawMessage, _ func(string)) (Result, error) {
		cancel()
		return Result{}, errors.New("cancelled")
	}
	if _, err := s.run(ctx, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

// Reports are shown as lines, at most every 250 ms, and the newest ones without a further report.
func TestTheReportsOfACall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, git := withGit(t)
		began := time.Now()
		git.call = func(_ context.Context, _ string, _ json.RawMessage, progress func(string)) (Result, error) {
			progress("one")
			progress("")
			time.Sleep(100 * time.Millisecond)
			progress("two")
			progress("three")
			time.Sleep(time.Second)
			progress("four\xff")
			progress("five")
			return Result{}, nil
		}
		type shown struct {
			at time.Duration
			tools.Output
		}
		var all []shown
		if _, err := s.run(t.Context(), func(o tools.Output) { all = append(all, shown{time.Since(began), o}) }); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		synctest.Wait()
		want(t, "outputs", all, []shown{
			{0, tools.Output{Text: "one\n", End: 4}},
			{250 * time.Millisecond, tools.Output{Text: "one\ntwo\nthree\n", End: 14}},
			{1100 * time.Millisecond, tools.Output{Text: "one\ntwo\nthree\nfour\uFFFD\n", End: 22}},
		})
	})
}

// However much a server reports, the text is the newest lines, and ends where the output does.
func TestReportsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var last tools.Output
		r := newReports(func(o tools.Output) { last = o })
		end := int64(0)
		for _, n := range []int{10, 4000, 90, 5000, 4095, 1, 1} {
			r.add(strings.Repeat("x", n))
			time.Sleep(showEvery + 1)
			synctest.Wait()
			end += int64(min(n, tools.MaxShownOutput-1) + 1)
			if len(last.Text) > tools.MaxShownOutput || !strings.HasSuffix(last.Text, "x\n") || last.End != end {
				t.Errorf("after %d: %d bytes, end %d, want %d", n, len(last.Text), last.End, end)
			}
		}
		want(t, "the newest lines", last.Text, "x\nx\n")
		r.stop()
		r.add("late")
		time.Sleep(showEvery + 1)
		want(t, "the end after the result", last.End, end)
	})
}
