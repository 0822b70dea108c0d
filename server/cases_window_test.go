package server

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/compaction"
	"strata/history"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/llm"
	"strata/server/wire"
	"strata/session/assembly"
	"strata/session/profile"
)

// windowOf starts a server whose strict provider refuses requests that exceed a window together with their reply.
func windowOf(t *testing.T, model string, window, answer int, adjust ...func(*Options)) *testServer {
	t.Helper()
	ts := &testServer{t: t, upstream: upstream.Start(upstream.Options{Strict: true, Window: window}), dir: t.TempDir(), work: t.TempDir()}
	t.Cleanup(ts.upstream.Close)
	ts.models = map[string]llm.ModelConfig{model: {Window: window, MaxOutput: answer}}
	ts.start(append(adjust, func(o *Options) { o.Sessions.DefaultConfig.Model = model })...)
	return ts
}

// tokensLong returns a text of n tokens, as counted by the session and by the provider, which counts four bytes as one
// token.
func tokensLong(n int) string { return strings.Repeat(" the", n) }

// Messages fit, but not together with the reply: no request is refused, and attempts do not make the history longer.
func TestK2_05TheAnswerHasRoom(t *testing.T) {
	long(t)
	t.Parallel()
	const window, answer = 200_000, 8192
	for _, model := range []string{"claude/test", "local/test"} {
		for name, adjust := range map[string]func(*Options){"without compaction": func(*Options) {}, "with compaction": withCompaction(t)} {
			t.Run(model+" "+name, func(t *testing.T) {
				ts := windowOf(t, model, window, answer, adjust, func(o *Options) { o.Sessions.SummaryModel, o.Sessions.DetectionModel = "", "" })
				e, sid := attached(t, ts)
				var messages []any
				for i := range 20 {
					role := []string{"user", "assistant"}[i%2]
					messages = append(messages, message(role, fmt.Sprint("Message ", i, ":")+tokensLong(196_700/20-10)))
				}
				call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": messages})
				if model == "local/test" && name == "without compaction" {
					if got := tokensOf(ts, e, sid).Used; got > window-answer {
						t.Errorf("a request of %d tokens is planned", got)
					}
				}
				var sizes []int
				for i, text := range []string{tokensLong(50), "continue", "continue", "continue"} {
					mustPrompt(t, e, sid, text) // the provider refuses requests that do not fit
					ts.settle(e)
					req := ts.upstream.Last()
					if req.MaxTokens > answer || req.Tokens()+max(req.MaxTokens, 1) > window {
						t.Errorf("request %d: %d tokens and %d for the reply", i, req.Tokens(), req.MaxTokens)
					}
					if strings.Contains(string(req.Body), "exceed") {
						t.Errorf("request %d contains an error", i)
					}
					sizes = append(sizes, req.Tokens())
				}
				if n := len(ts.upstream.Requests()); n != 4 {
					t.Errorf("%d requests were made", n)
				}
				if last := sizes[len(sizes)-1]; last > sizes[0]+1000 {
					t.Errorf("the requests had %v tokens", sizes)
				}
			})
		}
	}
}

// A tool result as large as the window, and a larger message: the session remains usable.
func TestK2_06OneItemAsLargeAsTheWindow(t *testing.T) {
	long(t)
	t.Parallel()
	for _, model := range []string{"claude/test", "local/test"} {
		for name, adjust := range map[string]func(*Options){"without compaction": func(*Options) {}, "with compaction": withCompaction(t)} {
			t.Run(model+" "+name, func(t *testing.T) {
				ts := windowOf(t, model, 50_000, 4000, adjust, func(o *Options) { o.Sessions.SummaryModel, o.Sessions.DetectionModel = "", "" })
				e, sid := attached(t, ts)
				call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": append(
					[]map[string]any{message("user", "Read it.")}, toolBatch("big", 1, func(int) string { return tokensLong(48_000) })...)})
				stored := len(transcript(t, e, sid))
				fault := wireFault(t, e.Call("session/prompt", map[string]any{"sessionId": sid, "prompt": []any{words(tokensLong(120_000))}}, nil), wire.CodeOverBudget)
				if fault.Data == nil || len(transcript(t, e, sid)) != stored {
					t.Errorf("refused with %v, %d messages are stored", fault.Data, len(transcript(t, e, sid))-stored)
				}
				for _, text := range []string{"hello", "and again"} {
					reply := mustPrompt(t, e, sid, text)
					if !strings.Contains(reply.Said(), text) {
						t.Errorf("reply %q", reply.Said())
					}
					ts.settle(e)
				}
				if n := len(ts.upstream.Requests()); n != 2 {
					t.Errorf("%d requests were made", n)
				}
			})
		}
	}
}

// A request has at most four breakpoints, also after compactions and restores.
func TestK3_03MarksAfterCompactionsAndRestores(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s := newStage(t, layout)
			for i := range 4 {
				name := fmt.Sprintf("f%d", i)
				s.write(name, lines(name, 80))
				s.call("_strata/files/add", map[string]any{"path": name})
			}
			compactions, most := 0, 0
			for i := range 24 {
				s.clock.advance(time.Minute)
				s.prompt(lines(fmt.Sprint("question ", i), 8))
				read := s.cache.Last()
				most = max(most, len(read.Marks))
				if len(read.Marks) > 4 {
					t.Errorf("request %d: %d marks", i, len(read.Marks))
				}
				switch i {
				case 7, 13, 19:
					if compactNow(s.testServer, s.editor, s.sid, compaction.Middle, "compacted").After > 0 {
						compactions++
					}
				case 10:
					s.call("_strata/checkpoint/undo", nil)
				case 16:
					s.call("_strata/checkpoint/restore", map[string]any{"seq": 12})
				}
			}
			if compactions != 3 || most < 2 {
				t.Errorf("%d compactions, at most %d marks: the test asks too little", compactions, most)
			}
		})
	}
}

// shownOnce checks that the newest request contains the current content of a file, and not twice.
func (s *stage) shownOnce(path, present string) {
	s.t.Helper()
	seen, err := readRequest(s.upstream.Last(), false)
	if err != nil {
		s.t.Fatal(err)
	}
	var versions []string
	for _, f := range seen.files[path] {
		versions = append(versions, f.text)
	}
	if err := once(path, versions, present); err != nil {
		s.t.Error(err)
	}
}

// A file that is read repeatedly is in each request once, whatever a compaction removes.
func TestK5_01AFileIsNeverMissing(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s := newStage(t, layout)
			text := lines("of the file", 200)
			s.write("f.txt", text)
			step := func(do func()) {
				t.Helper()
				do()
				s.clock.advance(time.Minute)
				s.prompt(lines("question", 5))
				s.shownOnce("f.txt", text)
			}
			read := func() { s.call("_strata/files/add", map[string]any{"path": "f.txt"}) }
			step(read)
			step(read)
			step(func() {
				for i := range 8 {
					s.prompt(lines(fmt.Sprint("more ", i), 10))
				}
				compactNow(s.testServer, s.editor, s.sid, compaction.Middle, "compacted")
			})
			step(read)
			step(func() {
				text = strings.Replace(text, "o", "0", 1)
				s.write("f.txt", text)
				read()
			})
			step(func() { s.call("_strata/checkpoint/undo", nil) })
		})
	}
}

// A file is read repeatedly by tools and the window is too small: the newest copy is whole, older copies are removed,
// and each result keeps its call.
func TestK5_01CopiesOfToolsGiveWayToTheNewest(t *testing.T) {
	t.Parallel()
	ts := windowOf(t, "claude/test", 12_000, 1000)
	e, sid := attached(t, ts)
	text := func(i int) string { return fmt.Sprintf("version %d\n", i) + tokensLong(2000) }
	for i := range 12 {
		version := i / 2 // each is read twice
		call[map[string]any](ts, e, "_strata/history/append", sid, map[string]any{"messages": append(
			[]map[string]any{message("user", fmt.Sprint("Read it, ", i))},
			append(toolBatch(fmt.Sprint("read", i), 1, func(int) string { return "--- FULL CONTENT: f.txt ---\n" + text(version) }), message("assistant", "I see."))...)})
		mustPrompt(t, e, sid, fmt.Sprint("What of it? ", i))
		sent := string(ts.upstream.Last().Body)
		if n := strings.Count(sent, fmt.Sprintf(`version %d\n`, version)); n < 1 || n > 2 {
			t.Errorf("read %d: the newest content occurs %d times", i, n)
		}
	}
}

// Whatever changes a file on disk, the next request contains the current content, and clients receive an event.
func TestK5_02AChangeOnDiskIsSent(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s := newStage(t, layout)
			if _, err := s.editor.Attach(s.sid, testclient.Place{}); err != nil {
				t.Fatal(err)
			}
			text := lines("first", 200)
			s.write("f.txt", text)
			path := filepath.Join(s.work, "f.txt")
			long := time.Now().Add(-time.Hour)
			if err := os.Chtimes(path, long, long); err != nil {
				t.Fatal(err)
			}
			s.call("_strata/files/add", map[string]any{"path": "f.txt"})
			for range 4 {
				s.clock.advance(time.Minute)
				s.prompt("question")
			}
			s.shownOnce("f.txt", text)
			for i, change := range []struct {
				name string
				do   func()
			}{
				{"normally", func() {
					text = lines("second", 200)
					s.write("f.txt", text)
				}},
				{"same length, time set back", func() {
					text = strings.Replace(text, "second", "2econd", 1)
					s.write("f.txt", text)
					must(t, os.Chtimes(path, long, long))
				}},
				{"replaced by rename", func() {
					text = strings.Replace(text, "2econd", "third!", 1)
					must(t, os.WriteFile(path+".new", []byte(text), 0o600))
					must(t, os.Chtimes(path+".new", long, long))
					must(t, os.Rename(path+".new", path))
				}},
			} {
				for range 4 {
					s.clock.advance(time.Minute)
					s.prompt("quiet")
				}
				was := s.stability("file:f.txt")
				change.do()
				s.clock.advance(time.Minute)
				s.prompt("question")
				s.shownOnce("f.txt", text)
				if now := s.stability("file:f.txt"); now >= was || now > 1 {
					t.Errorf("%s: N was %d and is %d", change.name, was, now)
				}
				s.editor.Expect(testclient.SeesTimes(s.sid, "files_changed", i+2)) // the first is that for adding the file
			}
		})
	}
}

// stability is the number of replies for which an item was unchanged.
func (s *stage) stability(key string) int {
	s.t.Helper()
	for _, tier := range s.breakdown().Tiers {
		for _, item := range tier.Items {
			if item.Key == key {
				return item.N
			}
		}
	}
	s.t.Fatalf("%s is in no tier", key)
	return 0
}

// lastUsage returns the newest usage update of a session.
func lastUsage(t *testing.T, fs testclient.Frames, sid string) (used, size int) {
	t.Helper()
	frames := fs.Of(sid).Kind("usage_update")
	if len(frames) == 0 {
		t.Fatal("no usage was reported")
	}
	var params struct{ Update struct{ Used, Size int } }
	if err := json.Unmarshal(frames[len(frames)-1].Params, &params); err != nil {
		t.Fatal(err)
	}
	return params.Update.Used, params.Update.Size
}

// Usage is a share of the window of the session's current model.
func TestK9_01UsageIsAShareOfTheModelsWindow(t *testing.T) {
	t.Parallel()
	ts := &testServer{t: t, upstream: upstream.Start(upstream.Options{}), dir: t.TempDir(), work: t.TempDir()}
	t.Cleanup(ts.upstream.Close)
	ts.models = map[string]llm.ModelConfig{"claude/large": {Window: 1_000_000}, "claude/small": {Window: 128_000}}
	ts.start(func(o *Options) { o.Sessions.DefaultConfig.Model = "claude/large" })
	e, sid := attached(t, ts)
	reported := 0
	ts.upstream.Choose(func(*upstream.Request) upstream.Script {
		return upstream.Script{Steps: upstream.Texts("Yes."), Usage: upstream.Usage{Input: reported}}
	})
	steps := []struct {
		model         string
		reports       int
		size, percent int // the window, and the used part
	}{
		{"claude/large", 250_000, 1_000_000, 25},
		{"claude/nobody-knows-it", 32_000, llm.DefaultWindow, 25},
		{"claude/small", 64_000, 128_000, 50},
		{"claude/small", 160_000, 128_000, 125},
		{"claude/large", 250_000, 1_000_000, 25},
		{"claude/large", 0, 1_000_000, 0},
	}
	for _, s := range steps {
		call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "model", "value": s.model})
		reported = s.reports
		mustPrompt(t, e, sid, "How full is it?")
		used, size := lastUsage(t, e.Frames(), sid)
		if size != s.size || used*100/size != s.percent {
			t.Errorf("%s: %d of %d are used, want %d %%", s.model, used, size, s.percent)
		}
		budget := call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil)
		if budget.MaxInputTokens != s.size || budget.Remaining < 0 || budget.PercentUsed < 0 {
			t.Errorf("%s: %+v", s.model, budget)
		}
		line := call[assembly.Report](ts, e, "_strata/context/report", sid, nil).Line
		if strings.Contains(line, "NaN") || strings.Contains(line, "-") {
			t.Errorf("%s: %s", s.model, line)
		}
	}
}

// Each change of the view is reported immediately, even without a prompt, and the methods report the same.
func TestK9_02TheMeterFollowsCompactions(t *testing.T) {
	t.Parallel()
	ts, s := startCompacting(t, 100_000, upstream.Options{}, withCompaction(t, func(p *profile.Profile) { p.Compaction.TriggerTokens = 3000 }))
	e, sid := attached(t, ts)
	updates := func() int {
		ts.settle(e)
		ts.catchUp(e, sid)
		return len(e.Frames().Of(sid).Kind("usage_update"))
	}
	told := func(what string, n int, do func()) int {
		t.Helper()
		do()
		ts.settle(e)
		budget := call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil)
		e.Expect(testclient.Condition{Name: fmt.Sprintf("%s: %d tokens are told", what, budget.Used), Met: func(fs testclient.Frames) bool {
			if len(fs.Of(sid).Kind("usage_update")) < n {
				return false
			}
			used, size := lastUsage(t, fs, sid)
			return used == budget.Used && size == 100_000
		}})
		return budget.Used
	}
	told("an append", 1, func() { ts.talk(e, sid, 6) })
	mustPrompt(t, e, sid, "First.")
	var full int
	small := told("the worker", updates()+1, func() { ts.talk(e, sid, 6) }) // over the trigger
	if got := outcomes(e.Frames(), sid); !slices.Contains(got, "compacted") {
		t.Fatalf("received: %v", got)
	}
	full = told("an undo", updates()+1, func() { call[map[string]any](ts, e, "_strata/checkpoint/undo", sid, nil) })
	if small >= full {
		t.Errorf("%d tokens after the compaction, %d without it", small, full)
	}
	if again := told("asked for", updates()+1, func() { compactNow(ts, e, sid, "rolling", "compacted") }); again >= full {
		t.Errorf("%d tokens after a requested compaction, %d without it", again, full)
	}
	last := told("a restore", updates()+1, func() { call[map[string]any](ts, e, "_strata/checkpoint/restore", sid, map[string]any{"seq": 12}) })
	if last >= full {
		t.Errorf("%d tokens after the restore, %d before", last, full)
	}

	s.says() // nothing
	n := updates()
	told("four more", n+1, func() { ts.talk(e, sid, 4) })
	n = updates()
	compactNow(ts, e, sid, "rolling", "failed")
	if updates() != n {
		t.Error("a failed compaction changes the reported usage")
	}
	if cleared := told("a clear", updates()+1, func() { call[map[string]any](ts, e, "_strata/history/clear", sid, nil) }); cleared >= last {
		t.Errorf("%d tokens after a clear", cleared)
	}
}

// Tokens read from a cache count once, in either provider's convention.
func TestK9_03CachedInputCounts(t *testing.T) {
	t.Parallel()
	for _, model := range []string{"claude/test", "local/test"} {
		t.Run(model, func(t *testing.T) {
			ts := &testServer{t: t, upstream: upstream.Start(upstream.Options{}), dir: t.TempDir(), work: t.TempDir()}
			t.Cleanup(ts.upstream.Close)
			price := llm.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
			ts.models = map[string]llm.ModelConfig{model: {Window: 1_000_000, Price: &price}}
			ts.start(withCompaction(t), func(o *Options) { o.Sessions.DefaultConfig.Model = model })
			e, sid := attached(t, ts)
			usage := upstream.Usage{Input: 20_000, CacheRead: 580_000, Output: 1000}
			ts.upstream.Push(upstream.Script{Usage: usage, Steps: append(upstream.Texts("a"), upstream.Tell(), upstream.Text("b"))})
			mustPrompt(t, e, sid, "How much?")
			if used, size := lastUsage(t, e.Frames(), sid); used != 601_000 || size != 1_000_000 {
				t.Errorf("%d of %d are used", used, size)
			}
			b := tokensOf(ts, e, sid)
			if math.Abs(b.Cache.HitRate-0.9667) > 0.001 || b.Cache.ReadTokens != 580_000 {
				t.Errorf("%+v", b.Cache)
			}
			want := history.Usage{Input: 20_000, CacheRead: 580_000, Output: 1000}
			if b.Totals.Usage != want || math.Abs(b.Totals.Cost-(0.06+0.174+0.015)) > 1e-9 {
				t.Errorf("%+v", b.Totals)
			}
			line := call[assembly.Report](ts, e, "_strata/context/report", sid, nil).Line
			if !strings.Contains(line, "read 97 %") {
				t.Errorf("%s", line)
			}
		})
	}
}
