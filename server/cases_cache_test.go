package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/upstream"
)

// With five cache breakpoints in a request, the provider refuses it, and the session is unusable.
func TestK3_03NeverMoreThanFourMarks(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s := newStage(t, layout)
			for i := range 8 {
				name := fmt.Sprintf("f%d", i)
				s.write(name, lines(name, 80))
			}
			marked := func(text string) []any {
				return []any{map[string]any{"type": "text", "text": text, "cache_control": map[string]any{"type": "ephemeral"}}}
			}
			most := 0
			for i := range 16 {
				if i%2 == 0 {
					s.call("_strata/files/add", map[string]any{"path": fmt.Sprintf("f%d", i/2)})
				}
				s.clock.advance(time.Minute)
				switch i % 3 {
				case 0:
					s.say(message("user", marked(lines("asked", 4))))
					s.own(sixTools(rand.New(rand.NewPCG(1, 1))), message("assistant", marked(lines("answered", 4))))
				default:
					if _, err := s.editor.StartWith(s.sid, marked(lines("prompted", 4)), "").Wait(); err != nil {
						t.Fatal(err)
					}
				}
				most = max(most, len(s.readAsExpected(fmt.Sprint("request ", i)).Marks))
			}
			if most < 3 {
				t.Errorf("at most %d marks: the test asks too little", most)
			}
		})
	}
}

// sixTools returns ten tools with six properties each; r chooses their order and the order of the keys.
func sixTools(r *rand.Rand) []any {
	var tools []any
	for _, i := range r.Perm(10) {
		var properties []string
		for _, j := range r.Perm(6) {
			one := []string{fmt.Sprintf(`"description":"property %d of tool %d"`, j, i), `"type":"string"`}
			r.Shuffle(2, func(i, j int) { one[i], one[j] = one[j], one[i] })
			properties = append(properties, fmt.Sprintf(`"p%d":{%s}`, j, strings.Join(one, ",")))
		}
		schema := []string{`"type":"object"`, `"required":["p0","p3"]`, `"properties":{` + strings.Join(properties, ",") + `}`}
		r.Shuffle(3, func(i, j int) { schema[i], schema[j] = schema[j], schema[i] })
		tools = append(tools, map[string]any{
			"name": fmt.Sprintf("tool%d", i), "description": "It does something.",
			"inputSchema": json.RawMessage("{" + strings.Join(schema, ",") + "}"),
		})
	}
	return tools
}

// If the order of a map decides the order of tools and parts, each turn has another order and the cached prefix never
// matches.
func TestK3_04OrderChangesNoByte(t *testing.T) {
	long(t)
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s := newStage(t, layout)
			second := s.testServer.editor()
			for i := range 12 {
				s.write(fmt.Sprintf("f%02d.go", i), lines(fmt.Sprint("file ", i), 40))
			}
			sessions := []string{s.sid, s.editor.NewSession(s.work)}
			for n, sid := range sessions {
				for at, i := range rand.New(rand.NewPCG(uint64(n), 1)).Perm(12) {
					editor := s.editor
					if at%2 == n {
						editor = second
					}
					call[map[string]any](s.testServer, editor, "_strata/files/add", sid, map[string]any{"path": fmt.Sprintf("f%02d.go", i)})
				}
			}
			second.Close()
			shuffle := rand.New(rand.NewPCG(3, 1))
			var first []string // prefixes of the first request, by breakpoint
			for turn := range 21 {
				if turn == 20 {
					s.restart()
				}
				s.clock.advance(time.Minute)
				var bodies [2][]byte
				var read upstream.Read // of the first session; the second session reads everything that the first has written
				for n, sid := range sessions {
					s.sid = sid
					s.say(message("user", lines(fmt.Sprint("question ", turn), 2)))
					s.own(sixTools(shuffle), message("assistant", lines(fmt.Sprint("answer ", turn), 2)))
					bodies[n] = s.upstream.Last().Body
					if n == 0 {
						read = s.readAsExpected(fmt.Sprint("request ", turn))
					}
				}
				if !bytes.Equal(bodies[0], bodies[1]) {
					t.Fatalf("request %d differs:\n%s\n%s", turn, bodies[0], bodies[1])
				}
				if turn == 0 {
					for _, m := range read.Marks {
						first = append(first, m.Prefix)
					}
				}
				if layout == "log" && read.Marks[0].Prefix != first[0] {
					t.Errorf("request %d: the tools and the system prompt have other bytes", turn)
				}
				if u := read.Usage; turn > 0 && (u.CacheRead == 0 || layout == "log" && u.CacheWrite+u.Input > 200) {
					t.Errorf("request %d: %+v", turn, u)
				}
			}
		})
	}
}

// A file that moves into L3 does not change the bytes of L0 to L2.
func TestK3_04NewFileLeavesUpperTiersAlone(t *testing.T) {
	t.Parallel()
	s := newStage(t, "ripple")
	turn := func() upstream.Read {
		s.clock.advance(time.Minute)
		s.prompt(lines("question", 2))
		return s.readAsExpected("turn")
	}
	for i := range 12 {
		path := fmt.Sprintf("f%02d.go", i)
		s.write(path, lines(path, 40))
		s.call("_strata/files/add", map[string]any{"path": path})
		for range 4 {
			turn()
		}
	}
	s.write("new.go", lines("new", 40))
	s.call("_strata/files/add", map[string]any{"path": "new.go"})
	for range 3 {
		turn()
	}
	for i := range 3 {
		before := turn()
		upper := upperPrefix(s, before)
		read := turn()
		if upper == "" || upperPrefix(s, read) != upper {
			t.Errorf("turn %d: the tiers above L3 have other bytes, marks %+v", i, read.Marks)
		}
	}
	in := false
	for _, tier := range s.breakdown().Tiers {
		for _, item := range tier.Items {
			in = in || item.Key == "file:new.go" && tier.Tier != "active"
		}
	}
	if !in {
		t.Error("the new file is still in the active tier")
	}
}

// upperPrefix returns the bytes up to the last breakpoint before that of L3.
func upperPrefix(s *stage, read upstream.Read) string {
	if len(read.Marks) < 2 {
		return ""
	}
	return read.Marks[len(read.Marks)-2].Prefix
}

// A time in the system prompt invalidates the whole cached prefix each minute, a date at midnight.
func TestK3_05TheClockChangesNoByte(t *testing.T) {
	t.Parallel()
	for _, layout := range bothLayouts {
		t.Run(layout, func(t *testing.T) {
			s, control := newStage(t, layout), newStage(t, layout)
			for _, s := range []*stage{s, control} {
				s.write("a.go", lines("a", 60))
				s.write("AGENTS.md", lines("rules", 20))
				s.call("_strata/files/add", map[string]any{"path": "a.go"})
				s.clock.set(time.Date(2026, 3, 14, 23, 58, 0, 0, time.UTC))
				s.prompt(lines("first", 2))
			}
			for _, step := range []struct {
				what string
				do   func()
			}{
				{"61 seconds", func() { s.clock.advance(61 * time.Second) }},
				{"over midnight", func() { s.clock.set(time.Date(2026, 3, 15, 0, 0, 1, 0, time.UTC)) }},
				{"another time zone", func() { s.clock.set(s.clock.Now().In(time.FixedZone("far", 13*3600)).Add(time.Second)) }},
				{"another year", func() { s.clock.set(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)) }},
			} {
				before := contentOf(s.upstream.Last())
				step.do()
				s.prompt(lines(step.what, 2))
				control.prompt(lines(step.what, 2))
				s.readAsExpected(step.what)
				now := s.upstream.Last()
				if got, want := contentOf(now), contentOf(control.upstream.Last()); !slices.Equal(got, want) {
					t.Errorf("%s: the request contains\n%q\nand with a stopped clock\n%q", step.what, got, want)
				}
				if layout == "log" && !slices.Equal(before, contentOf(now)[:len(before)]) {
					t.Errorf("%s: the request does not begin with the one before", step.what)
				}
				for _, volatile := range []string{"2026", "2031", s.sid, s.work, "msg_", "turn_", "asm_"} {
					if bytes.Contains(now.Body, []byte(volatile)) {
						t.Errorf("%s: the request contains %q", step.what, volatile)
					}
				}
			}
		})
	}
}

// contentOf returns the texts of a request in order, without breakpoints.
func contentOf(req *upstream.Request) (all []string) {
	for _, b := range req.System {
		all = append(all, "system: "+b.Text)
	}
	for _, m := range req.Messages {
		for _, b := range m.Blocks {
			all = append(all, m.Role+": "+b.Text)
		}
	}
	return all
}

// If only the newest block has a breakpoint, a turn with more tool blocks than the provider's look-back writes the
// whole history to the cache again.
func TestK3_07TurnsOfManyBlocksStayCached(t *testing.T) {
	t.Parallel()
	s := newStage(t, "log")
	s.write("a.go", lines("a", 60))
	s.call("_strata/files/add", map[string]any{"path": "a.go"})
	previous := 0 // tokens up to the last breakpoint
	check := func(when string) {
		t.Helper()
		read := s.readAsExpected(when)
		last := read.Marks[len(read.Marks)-1]
		if previous > 0 && read.Usage.CacheRead < previous {
			t.Errorf("%s: %d tokens were read, %d were marked before", when, read.Usage.CacheRead, previous)
		}
		if last.Tokens <= previous || last.Block != read.All-1 {
			t.Errorf("%s: the last breakpoint is at block %d of %d, %d tokens; before %d", when, last.Block, read.All, last.Tokens, previous)
		}
		previous = last.Tokens
	}
	tools := []any{map[string]any{"name": "look"}}
	result := func(i int) string { return lines(fmt.Sprint("result ", i), 2) }
	for turn := range 6 {
		when := fmt.Sprint("turn ", turn)
		s.clock.advance(time.Minute)
		s.say(message("user", lines(when, 2)))
		s.own(tools, toolBatch(fmt.Sprint("x", turn), 12, result)...)
		check(when)
		if turn%2 == 0 { // two batches in one turn
			s.own(tools, toolBatch(fmt.Sprint("y", turn), 12, result)...)
			check(when + ", second batch")
		}
		s.own(tools, message("assistant", lines(when+" answer", 2)))
		check(when + ", answer")
	}
	// Messages appended between two prompts are sent as text without tools, in the same number of blocks.
	previous = 0
	for turn := range 3 {
		when := fmt.Sprint("prompt ", turn)
		s.prompt(lines(when, 2))
		check(when)
		s.say(append([]map[string]any{message("user", lines(when, 1))}, toolBatch(fmt.Sprint("z", turn), 12, result)...)...)
	}
}
