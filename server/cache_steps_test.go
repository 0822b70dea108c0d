package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/internal/upstream"
	"strata/session"
	"strata/stability"
)

// toolCall is a call of a tool as a scripted model makes it.
type toolCall struct {
	name string
	args map[string]any
}

func readOf(path string, lines ...int) toolCall {
	args := map[string]any{"path": path}
	if len(lines) == 2 {
		args["start_line"], args["end_line"] = lines[0], lines[1]
	}
	return toolCall{"read_file", args}
}

func searchOf(pattern, include string) toolCall {
	return toolCall{"search", map[string]any{"pattern": pattern, "include": include}}
}

func listOf(path string) toolCall { return toolCall{"list_files", map[string]any{"path": path}} }

// script returns a reply with a text and calls, whose ids begin with id.
func script(id, text string, calls ...toolCall) upstream.Script {
	steps := upstream.Texts(text)
	for i, c := range calls {
		args, err := json.Marshal(c.args)
		if err != nil {
			panic(err) // of texts and numbers
		}
		steps = append(steps, upstream.Call(fmt.Sprintf("%s_%d", id, i), c.name, string(args))...)
	}
	return upstream.Script{Steps: steps}
}

// withTools turns the tools on.
func withTools(opt *Options) {
	opt.Sessions.Tools = session.ToolSettings{Enabled: true, MaxSteps: 100}
}

// readSteps compares the tokens that the provider read for each request with the expected ones, and returns their share.
func (s *stage) readSteps() (total share) {
	s.t.Helper()
	reads, plans := s.cache.Reads(), s.planned.since(0)
	if len(reads) != len(plans) {
		s.t.Fatalf("%d requests were sent, %d were planned", len(reads), len(plans))
	}
	before := 0 // tokens of the request before
	for i, read := range reads {
		plan, u := plans[i], read.Usage
		total.add(u)
		switch {
		case len(read.Marks) > 0 && int64(read.Blocks) != plan.blocks:
			s.t.Errorf("request %d: %d of %d blocks were read, %d were expected (cut %q)", i, read.Blocks, read.All, plan.blocks, plan.cut)
		case len(read.Marks) == 0 && int64(u.CacheRead) <= plan.expected-128: // the provider counts more tokens in calls and results
			s.t.Errorf("request %d: %d tokens were read, %d were expected", i, u.CacheRead, plan.expected)
		case len(read.Marks) == 0 && s.layout == stability.LayoutLog && plan.cut == "" && u.CacheRead <= before-128:
			s.t.Errorf("request %d: %d tokens were read, but the request before has %d", i, u.CacheRead, before)
		}
		before = u.Input + u.CacheRead + u.CacheWrite
	}
	return total
}

// copySources copies files of this repository into the workspace.
func (s *stage) copySources(names ...string) {
	s.t.Helper()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join("..", name))
		full := filepath.Join(s.work, name)
		if err := errors.Join(err, os.MkdirAll(filepath.Dir(full), 0o700), os.WriteFile(full, text, 0o600)); err != nil {
			s.t.Fatal(err)
		}
	}
}

// explored are the files that the steps of explorations read.
var explored = []string{
	"README.md", "docs/context.md", "stability/log.go", "stability/cut.go", "stability/draft.go", "stability/tail.go", "stability/mirror.go",
	"stability/entry.go", "stability/state.go", "stability/tracker.go", "stability/ripple.go", "stability/cascade.go", "session/steps.go",
	"session/turn.go", "session/ending.go", "session/recover.go", "session/assembly/assembly.go", "session/assembly/render.go",
	"session/assembly/collect.go", "session/assembly/layout.go", "session/tools/read.go", "session/tools/search.go", "session/tools/step.go",
}

// explorations are the numbers of steps with calls in the turns of a session: 60 together.
var explorations = []int{3, 1, 30, 0, 8, 12, 1, 5}

// explore returns the steps of a turn; number is that of its first step in the session.
func explore(number, steps int) (turn []upstream.Script) {
	patterns := []string{"mirror", "Plan(", "func (s *State)", "ErrStorage", "sort"}
	for n := number; n < number+steps; n++ {
		path, other := explored[n*7%len(explored)], explored[n*5%len(explored)]
		var calls []toolCall
		switch n % 5 {
		case 0:
			calls = []toolCall{searchOf(patterns[n/5%5], "*.go")}
		case 1:
			calls = []toolCall{readOf(path)}
		case 2:
			calls = []toolCall{readOf(path, 1, 60), readOf(other, 20, 120)}
		case 3:
			calls = []toolCall{listOf("session"), searchOf("Cut", "stability/*.go"), readOf(path, 100, 140)}
		default:
			calls = []toolCall{readOf(path, n, n+150)}
		}
		turn = append(turn, script(fmt.Sprint("call_", n), fmt.Sprintf("Let me look (%d).", n), calls...))
	}
	return turn
}

// TestStepsAreReadFromTheCache runs a session of 60 steps that read and search this repository.
func TestStepsAreReadFromTheCache(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		layout, model string
		least         int // percent of the input that is read from the cache
	}{
		{stability.LayoutLog, "claude/a", 85},
		{stability.LayoutLog, "local/x", 85},
		{stability.LayoutRipple, "claude/a", 0}, // moves nothing inside a turn, so a long turn is not cached
		{stability.LayoutRipple, "local/x", 85},
	} {
		t.Run(test.layout+" "+test.model, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, test.layout, withTools)
			s.copySources(explored...)
			s.choose(test.model)
			s.call("_strata/files/add", map[string]any{"path": "stability/plan.go", "content": lines("plan", 200)})
			number := 0
			for i, steps := range explorations {
				s.steps = explore(number, steps)
				number += steps
				s.clock.advance(2 * time.Minute)
				s.prompt(fmt.Sprintf("Question %d: how do the plan of a request and the session fit together?", i))
				if i%3 == 1 { // read before, so the model is told of the change
					s.write("README.md", lines(fmt.Sprint("readme ", i), 100))
				}
			}
			total := s.readSteps()
			t.Log(total)
			if requests := number + len(explorations); len(s.cache.Reads()) != requests || number != 60 {
				t.Errorf("%d requests for %d steps, want %d", len(s.cache.Reads()), number, requests)
			}
			if total.read*100 < total.input*test.least {
				t.Errorf("%v; want %d %%", total, test.least)
			}
		})
	}
}

// A frontend that calls the model with its own tools gets no guide to the server's.
func TestFrontendsGetNoGuideToTheServersTools(t *testing.T) {
	t.Parallel()
	s := newStage(t, stability.LayoutLog, withTools)
	s.prompt("hello")
	const guide = "You can work in the user's workspace with tools"
	if system := s.upstream.Last().System; len(system) == 0 || !strings.Contains(system[0].Text, guide) {
		t.Fatalf("the system prompt of a turn is %v", system)
	}
	s.say(message("user", "hello again"))
	s.own([]any{map[string]any{"name": "look"}}, message("assistant", "Fine."))
	if req := s.upstream.Last(); len(req.Tools) != 1 || strings.Contains(string(req.Body), guide) {
		t.Errorf("a frontend's request has the tools %v, and as system prompt %v", req.Tools, req.System)
	}
}
