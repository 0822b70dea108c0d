package shell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"strata/session/clients"
	"strata/session/tools"
)

// fakeEditor is an editor with one terminal. A nil function does what an editor does whose command runs for ten seconds, and puts
// out a line each second.
type fakeEditor struct {
	clients.Client
	begun time.Time

	creating func(ctx context.Context) (string, error)
	waiting  func(ctx context.Context) (clients.Exit, error)
	asking   func(ctx context.Context) (clients.TerminalOutput, error)

	mu    sync.Mutex
	log   []string
	asked clients.TerminalCommand
	event uint64 // newest of the session
	shows []tools.Output
}

func (e *fakeEditor) note(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.log = append(e.log, fmt.Sprintf(format, args...))
}

func (e *fakeEditor) Identity() any { return e }

func (e *fakeEditor) Can(c clients.Capability) bool { return c == clients.Terminals }

func (e *fakeEditor) CreateTerminal(ctx context.Context, c clients.TerminalCommand, after uint64) (string, error) {
	e.note("create %d", after)
	e.mu.Lock()
	e.asked, e.begun = c, time.Now()
	e.mu.Unlock()
	if e.creating != nil {
		return e.creating(ctx)
	}
	return "t1", nil
}

func (e *fakeEditor) WaitForExit(ctx context.Context, id string, _ uint64) (clients.Exit, error) {
	e.note("wait %s", id)
	if e.waiting != nil {
		return e.waiting(ctx)
	}
	return runsFor(ctx, 10*time.Second, e.begun)
}

func (e *fakeEditor) TerminalOutput(ctx context.Context, id string, _ uint64) (clients.TerminalOutput, error) {
	e.note("output %s", id)
	if e.asking != nil {
		return e.asking(ctx)
	}
	var out clients.TerminalOutput
	for i := range min(int(time.Since(e.begun).Seconds()), 10) {
		out.Text += fmt.Sprintf("line %d\n", i+1)
	}
	return out, nil
}

func (e *fakeEditor) KillTerminal(id string, after uint64)    { e.note("kill %s %d", id, after) }
func (e *fakeEditor) ReleaseTerminal(id string, after uint64) { e.note("release %s %d", id, after) }

// show takes the output that clients are shown, each as the next event.
func (e *fakeEditor) show(o tools.Output) {
	e.note("show")
	e.mu.Lock()
	defer e.mu.Unlock()
	e.event++
	e.shows = append(e.shows, o)
}

// order returns the requests and the first show in their order. Looks at the output in a row are one.
func (e *fakeEditor) order() (log []string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, entry := range e.log {
		isRepeated := entry == "show" && slices.Contains(log, entry) || entry == "output t1" && log[len(log)-1] == entry
		if !isRepeated {
			log = append(log, entry)
		}
	}
	return log
}

func runsFor(ctx context.Context, d time.Duration, since time.Time) (clients.Exit, error) {
	select {
	case <-time.After(time.Until(since.Add(d))):
		return clients.Exit{Code: new(int)}, nil
	case <-ctx.Done():
		return clients.Exit{}, context.Cause(ctx)
	}
}

// inEditor returns a workshop whose turn the editor serves.
func inEditor(t *testing.T, e *fakeEditor) *workshop {
	w := open(t)
	w.Editor = func() (clients.Client, uint64) {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e, e.event
	}
	return w
}

func TestACommandRunsInTheEditorsTerminal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEditor{event: 7}
		w := inEditor(t, e)
		r, err := w.call(map[string]any{"command": "make"}).Run(t.Context(), tools.MaxResult, e.show)
		must(t, err)
		text := textOf(t, r)
		if hasAll(t, text, "Exit code 0\nline 1\nline 2\n", "line 10\n"); r.IsError {
			t.Error("it failed")
		}
		equal(t, "order", strings.Join(e.order(), ", "), "create 7, show, wait t1, output t1, release t1 8")
		equal(t, "command", fmt.Sprint(e.asked.Program, e.asked.Args, e.asked.Limit), "/bin/sh[-c make] 1048576")
		equal(t, "folder", e.asked.Dir, w.folder)
		if !slices.Contains(e.asked.Env, clients.Variable{Name: "GIT_PAGER", Value: "cat"}) {
			t.Errorf("environment %v", e.asked.Env)
		}
		if first := e.shows[0]; first.Terminal == nil || *first.Terminal != (tools.Terminal{Owner: e.Identity(), ID: "t1"}) {
			t.Errorf("shown first: %+v", first)
		}
	})
}

// Clients without the terminal see the output while the command runs, ever less often.
func TestTheOutputOfATerminalIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEditor{}
		var at []string
		begun := time.Now()
		show := func(o tools.Output) {
			at = append(at, fmt.Sprintf("%v: %d", time.Since(begun).Round(100*time.Millisecond), strings.Count(o.Text, "\n")))
			if o.End != int64(len(o.Text)) || o.Terminal == nil {
				t.Errorf("%+v", o)
			}
		}
		_, err := inEditor(t, e).call(map[string]any{"command": "make"}).Run(t.Context(), tools.MaxResult, show)
		must(t, err)
		equal(t, "shown", strings.Join(at, ", "), "0s: 0, 1.5s: 1, 3.5s: 3, 6.5s: 6, 9.5s: 9")
	})
}

// Each way in which a command in a terminal ends releases the terminal once, and never creates a second one.
func TestATerminalIsReleasedOnce(t *testing.T) {
	never := func(ctx context.Context) (clients.Exit, error) {
		<-ctx.Done()
		return clients.Exit{}, context.Cause(ctx)
	}
	after := func(d time.Duration, err error) func(context.Context) (clients.Exit, error) {
		return func(context.Context) (clients.Exit, error) {
			time.Sleep(d)
			return clients.Exit{}, err
		}
	}
	busy := true
	for name, test := range map[string]struct {
		editor *fakeEditor
		cancel time.Duration // of the turn; 0: never
		order  string
		result string // empty: the error of the context
		failed bool
	}{
		"cancelled while it runs": {editor: &fakeEditor{}, cancel: 300 * time.Millisecond, order: "create 0, show, wait t1, kill t1 1, release t1 1"},
		"cancelled while the editor creates it": {
			editor: &fakeEditor{creating: func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "", context.Cause(ctx)
			}},
			cancel: time.Second, order: "create 0",
		},
		"cancelled as the editor has created it": {
			editor: &fakeEditor{creating: func(ctx context.Context) (string, error) {
				<-ctx.Done()
				return "t1", nil
			}},
			cancel: time.Second, order: "create 0, show, wait t1, kill t1 1, release t1 1",
		},
		"cancelled while the output is asked for": {
			editor: &fakeEditor{waiting: after(100*time.Millisecond, nil), asking: func(ctx context.Context) (clients.TerminalOutput, error) {
				<-ctx.Done()
				return clients.TerminalOutput{}, context.Cause(ctx)
			}},
			cancel: 200 * time.Millisecond, order: "create 0, show, wait t1, output t1, release t1 1",
		},
		"the time limit": {
			editor: &fakeEditor{waiting: never}, order: "create 0, show, wait t1, output t1, kill t1 1, output t1, release t1 1",
			result: "Ended after 120 s, its time limit. Its output so far:\nline 1\n", failed: true,
		},
		"the editor goes away before it responds": {
			editor: &fakeEditor{creating: func(context.Context) (string, error) { return "", clients.ErrGone }}, order: "create 0",
			result: "The editor disconnected; the outcome of the command is unknown.", failed: true,
		},
		"the editor goes away while it runs": {
			editor: &fakeEditor{waiting: after(2*time.Second, clients.ErrGone)}, order: "create 0, show, wait t1, output t1, release t1 1",
			result: "The editor disconnected; the outcome of the command is unknown. Its output so far:\nline 1\n", failed: true,
		},
		"the editor goes away before the output is asked for": {
			editor: &fakeEditor{waiting: after(time.Second, nil), asking: func(context.Context) (clients.TerminalOutput, error) {
				return clients.TerminalOutput{}, clients.ErrGone
			}}, order: "create 0, show, wait t1, output t1, release t1 1",
			result: "Ended; the editor did not report the exit code\n[The output may be incomplete: the editor's connection ended before its response]\n(no output)",
		},
		"the editor has no room for a request": {
			editor: &fakeEditor{creating: func(context.Context) (string, error) { return "", clients.ErrBusy }}, order: "create 0",
			result: "run_command was not run: too many requests to the editor are in flight. Try it again later.", failed: true,
		},
		"the editor has no room for the next request": {
			editor: &fakeEditor{waiting: func(context.Context) (clients.Exit, error) {
				if busy {
					busy = false
					return clients.Exit{}, clients.ErrBusy
				}
				return clients.Exit{Signal: "SIGSEGV"}, nil
			}}, order: "create 0, show, wait t1, wait t1, output t1, release t1 1", result: "Ended by SIGSEGV\n(no output)",
		},
		"the editor refuses it": {
			editor: &fakeEditor{creating: func(context.Context) (string, error) {
				return "", &clients.Refused{Code: -32000, Message: "no terminals today"}
			}}, order: "create 0", result: "The editor did not run the command: no terminals today", failed: true,
		},
		"the editor responds with nonsense": {
			editor: &fakeEditor{creating: func(context.Context) (string, error) { return "", clients.ErrInvalid }}, order: "create 0",
			result: "Whether the command runs is unknown: the editor's response is invalid.", failed: true,
		},
		"the editor cannot wait": {
			editor: &fakeEditor{waiting: after(0, clients.ErrInvalid)}, order: "create 0, show, wait t1, output t1, kill t1 1, release t1 1",
			result: "The outcome of the command is unknown: the editor's response is invalid. Its output so far:\n(no output)", failed: true,
		},
		"the editor cannot wait, and knows the exit code": {
			editor: &fakeEditor{waiting: after(0, &clients.Refused{}), asking: func(context.Context) (clients.TerminalOutput, error) {
				return clients.TerminalOutput{Text: "boom\n", Exit: &clients.Exit{Code: ptr(2)}}, nil
			}}, order: "create 0, show, wait t1, output t1, release t1 1", result: "Exit code 2\nboom\n",
		},
		"the output is truncated": {
			editor: &fakeEditor{waiting: after(0, nil), asking: func(context.Context) (clients.TerminalOutput, error) {
				return clients.TerminalOutput{Text: "the end\n", Truncated: true}, nil
			}}, order: "create 0, show, wait t1, output t1, release t1 1",
			result: "Ended; the editor did not report the exit code\n[The editor kept only the end of the output]\nthe end\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := test.editor
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				if test.cancel > 0 {
					time.AfterFunc(test.cancel, cancel)
				}
				r, err := inEditor(t, e).call(map[string]any{"command": "make"}).Run(ctx, tools.MaxResult, e.show)
				if test.result == "" {
					if !errors.Is(err, context.Canceled) || len(r.Content) > 0 {
						t.Errorf("%v, %v", r, err)
					}
				} else {
					must(t, err)
					if text := textOf(t, r); !strings.HasPrefix(text, test.result) || r.IsError != test.failed {
						t.Errorf("result %q, failed %t", text, r.IsError)
					}
				}
				equal(t, "order", strings.Join(e.order(), ", "), test.order)
			})
		})
	}
}

func ptr[T any](value T) *T { return &value }

// A cancelled command is killed at once, also if the editor is slow.
func TestACancelDoesNotWaitForTheEditor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEditor{}
		w := inEditor(t, e)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		time.AfterFunc(700*time.Millisecond, cancel)
		begun := time.Now()
		_, err := w.call(map[string]any{"command": "make"}).Run(ctx, tools.MaxResult, e.show)
		if took := time.Since(begun); !errors.Is(err, context.Canceled) || took != 700*time.Millisecond {
			t.Errorf("%v after %v", err, took)
		}
	})
}

// The size of an output that the editor truncates grows by what is new.
func TestTheSizeOfATruncatedOutput(t *testing.T) {
	var s screen
	for i, step := range []struct {
		text      string
		truncated bool
		changed   bool
		end       int64
	}{
		{"one\n", false, true, 4},
		{"one\n", false, false, 4},
		{"one\ntwo\n", false, true, 8},
		{"e\none\ntwo\nthree\n", true, true, 14},
		{"three\nfour\n", true, true, 25}, // what was shown is gone: all may be new
		{"four\n", false, true, 25},       // the terminal was cleared
	} {
		o, changed := s.next(clients.TerminalOutput{Text: step.text, Truncated: step.truncated})
		if changed != step.changed || o.End != step.end {
			t.Errorf("step %d: %+v, changed %t", i, o, changed)
		}
	}
	var late screen
	if o, changed := late.next(clients.TerminalOutput{Text: "two\n", Truncated: true}); !changed || o.End != 4 {
		t.Errorf("truncated from the first look on: %+v, changed %t", o, changed)
	}
}

func TestTheEditorsOutputIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &fakeEditor{asking: func(context.Context) (clients.TerminalOutput, error) {
			return clients.TerminalOutput{Text: "first\n" + strings.Repeat("漢字\n", 1<<18) + "last\n"}, nil
		}}
		r, err := inEditor(t, e).call(map[string]any{"command": "make"}).Run(t.Context(), 2000, e.show)
		must(t, err)
		text := textOf(t, r)
		if hasAll(t, text, "[The editor kept only the end of the output]", "bytes omitted]", "\nlast\n"); len(text) > 2000 || strings.Contains(text, "first") {
			t.Errorf("%d bytes: %q", len(text), text)
		}
	})
}

func TestWithoutAnEditorOnlyAnyRuns(t *testing.T) {
	w := open(t)
	w.Runner = Client
	r := w.run(map[string]any{"command": "echo x > made"})
	hasAll(t, textOf(t, r), "run_command was not run: commands run only in a terminal of the user's editor")
	if !r.IsError || w.file("made") != "none" {
		t.Errorf("error %t, file %s", r.IsError, w.file("made"))
	}
}
