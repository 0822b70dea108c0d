package replay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"strata/stability"
)

const twoFiles = `{"id":"x","cls":"edit","sys":2000,"files":[[0,1,500,50,1,1],[0,1,300,0,1,1],[1,1,0,0,1,1]]}` + "\n"

// TestReplayingATurn follows "Replaying a turn" in testdata/README.md, sentence by sentence.
func TestReplayingATurn(t *testing.T) {
	tests := []struct {
		rule  string
		turns string
		want  string // items of the last request, "hash:tokens"
	}{
		{"system prompt, outlines of existing files that have one, messages in order",
			`{"u":5,"a":7}` + "\n" + `{"g":1,"u":6}`,
			"system:2000 outline:0@0:50 user:0:5 reply:0:7 user:1:6"},
		{"a file in full context replaces its outline",
			`{"u":5,"sel":[0,1]}`, "system:2000 file:0@0:515 file:1@0:315 user:0:5"},
		{"only a file that exists comes into full context",
			`{"u":5,"sel":[2]}`, "system:2000 outline:0@0:50 user:0:5"},
		{"des comes before sel", `{"u":5,"sel":[0],"des":[0]}`, "system:2000 file:0@0:515 user:0:5"},
		{"edits apply after the reply; an earlier text and the diffs to the present one",
			`{"u":5,"a":3000,"sel":[0],"ed":[[0,510,77,10,60,88,0],[0,520,78,20,0,0,0]]}` + "\n" + `{"g":1,"u":6}`,
			"system:2000 file:0@0:515 user:0:5 reply:0:3000 diff:0@0..78:30 user:1:6"},
		{"a new outline if its tokens are above 0",
			`{"u":5,"ed":[[0,510,77,10,60,88,1],[0,520,78,20,0,99,0]]}` + "\n" + `{"g":9,"u":6}`,
			"system:2000 outline:0@88:60 user:0:5 reply:0:0 user:1:6"},
		{"a file that did not exist comes into full context",
			`{"u":5,"ed":[[2,40,7,40,4,8,0]]}` + "\n" + `{"g":9,"u":6}`,
			"system:2000 outline:0@0:50 user:0:5 file:2@7:55 reply:0:0 user:1:6"},
		{"del applies", `{"u":5,"del":[0]}` + "\n" + `{"g":9,"u":6}`, "system:2000 user:0:5 reply:0:0 user:1:6"},
		{"above 40,000 tokens and 6 messages all but the last 4 become a summary",
			strings.Repeat(`{"g":9,"u":1,"a":10000}`+"\n", 5) + `{"g":9,"u":6}`,
			"system:2000 outline:0@0:50 summary:4:1200 user:2:1 reply:2:10000 user:3:1 reply:3:10000 user:4:1 reply:4:10000 user:5:6"},
		{"not with 6 messages", strings.Repeat(`{"g":9,"u":1,"a":20000}`+"\n", 3) + `{"g":9,"u":6}`,
			"system:2000 outline:0@0:50 user:0:1 reply:0:20000 user:1:1 reply:1:20000 user:2:1 reply:2:20000 user:3:6"},
		{"when the user asks for it, whatever the tokens", strings.Repeat(`{"g":9,"u":1,"a":2}`+"\n", 3) + `{"g":9,"u":1,"a":2,"c":1}` + "\n" + `{"g":9,"u":6}`,
			"system:2000 outline:0@0:50 summary:4:1200 user:2:1 reply:2:2 user:3:1 reply:3:2 user:4:6"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.rule, " ", "_"), func(t *testing.T) {
			requests, err := replayed(twoFiles+tt.turns, stability.LayoutLog)
			if err != nil {
				t.Fatal(err)
			}
			if want := strings.Count(strings.TrimSpace(tt.turns), "\n") + 1; len(requests) != want {
				t.Errorf("%d requests for %d turns", len(requests), want)
			}
			last := requests[len(requests)-1]
			var got []string
			for _, it := range last.Items {
				got = append(got, it.Hash+":"+strconv.Itoa(it.Tokens))
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("got  %s\nwant %s", strings.Join(got, " "), tt.want)
			}
		})
	}
}

func TestReplayPrintsLines(t *testing.T) {
	var out bytes.Buffer
	opt := Options{Options: stability.Options{Lifetime: stability.Lifetime1h}}
	if err := Replay(strings.NewReader(twoFiles+"\n"+`{"g":1.5,"u":5}`+"\n"), &out, opt); err != nil {
		t.Fatal(err)
	}
	want := `{"gap":1.5,"items":[{"h":"system","tok":2000,"end":true,"bp":false,"long":false},` +
		`{"h":"outline:0@0","tok":50,"end":true,"bp":true,"long":true},{"h":"user:0","tok":5,"end":true,"bp":true,"long":true}]}` + "\n"
	if out.String() != want {
		t.Errorf("got  %swant %s", out.String(), want)
	}
}

// A broken trace is an error with the line number; the requests before it are printed.
func TestBrokenTraces(t *testing.T) {
	head := strings.TrimSuffix(twoFiles, "\n")
	tests := []struct{ name, text, want string }{
		{"empty", "", "trace is empty"},
		{"blank", "\n\n", "trace is empty"},
		{"not JSON", "hello", "trace line 1: invalid character"},
		{"no header", `{"g":1}`, "line 1: not the first line"},
		{"negative system prompt", `{"id":"x","sys":-1,"files":[]}`, "line 1: invalid size"},
		{"short file", `{"id":"x","files":[[1,2]]}`, "line 1: file 0 has 2 columns"},
		{"huge file", `{"id":"x","files":[[1,1,1e300,0,0,0]]}`, "line 1: file 0: invalid size"},
		{"negative outline", `{"id":"x","files":[[1,1,1,-1,0,0]]}`, "line 1: file 0: invalid size"},
		{"truncated turn", head + "\n" + `{"g":1,"u":5}` + "\n\n" + `{"g":1,`, "line 4: unexpected end"},
		{"wrong type", head + "\n" + `{"g":"1"}`, "line 2: json: cannot unmarshal"},
		{"negative pause", head + "\n" + `{"g":-1}`, "line 2: invalid pause"},
		{"endless pause", head + "\n" + `{"g":1e300}`, "line 2: invalid pause"},
		{"negative message", head + "\n" + `{"u":-1}`, "line 2: invalid sizes"},
		{"endless reply", head + "\n" + `{"a":99999999999}`, "line 2: invalid sizes"},
		{"unknown file in", head + "\n" + `{"sel":[3]}`, "line 2: file 3 of 3"},
		{"unknown file out", head + "\n" + `{"des":[-1]}`, "line 2: file -1 of 3"},
		{"unknown file deleted", head + "\n" + `{"del":[9]}`, "line 2: file 9 of 3"},
		{"unknown file edited", head + "\n" + `{"ed":[[3,1,1,1,1,1,1]]}`, "line 2: edit of unknown file 3 of 3"},
		{"short edit", head + "\n" + `{"ed":[[1,1]]}`, "line 2: edit has 2 columns"},
		{"negative diff", head + "\n" + `{"ed":[[1,1,1,-1,1,1,1]]}`, "line 2: edit of file 1: invalid size"},
		{"step without results", head + "\n" + `{"st":[[0,5]]}`, "line 2: step has 2 columns"},
		{"step without end", head + "\n" + `{"st":[[0,5` + strings.Repeat(",1", maxSteps+1) + `]]}`, "line 2: step has 1003 columns"},
		{"step in the past", head + "\n" + `{"st":[[-1,5,6]]}`, "line 2: invalid pause"},
		{"negative result", head + "\n" + `{"st":[[0,5,-6]]}`, "line 2: invalid size in a step"},
		{"endless result", head + "\n" + `{"st":[[0,5,1e9]]}`, "line 2: invalid size in a step"},
		{"too many steps", head + "\n" + `{"st":[[0,1,1]` + strings.Repeat(`,[0,1,1]`, maxSteps) + `]}`, "line 2: 1001 steps"},
		{"negative tools", `{"id":"x","tools":-1,"files":[]}`, "line 1: invalid size"},
		{"endless line", head + "\n" + strings.Repeat("x", maxLine+1), "line 2: bufio.Scanner: token too long"},
		{"too many files", `{"id":"x","files":[[]` + strings.Repeat(`,[]`, maxFiles) + `]}`, "line 1: 100001 files"},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.name, " ", "_"), func(t *testing.T) {
			var out bytes.Buffer
			err := Replay(strings.NewReader(tt.text), &out, Options{})
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
			if tt.name == "truncated turn" && strings.Count(out.String(), "\n") != 1 {
				t.Errorf("the request before the broken line is missing: %s", out.String())
			}
		})
	}
}

func TestReplayPassesErrorsOn(t *testing.T) {
	if err := Replay(strings.NewReader(twoFiles), io.Discard, Defaults("pile")); err == nil {
		t.Error("accepted an unknown layout")
	}
	err := Replay(strings.NewReader(twoFiles+`{"u":5}`), brokenWriter{}, Options{})
	if !errors.Is(err, errBroken) {
		t.Errorf("error %v", err)
	}
}

var errBroken = errors.New("broken")

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errBroken }

// The cache reads found by the biller, which sees only the printed requests, equal the mirror's expectation, and the
// tokens sent in excess of the needed ones equal the unused tokens of the plan.
func TestBillMatchesExpectation(t *testing.T) {
	for _, layout := range Layouts {
		for _, path := range append(traces(t), explored) {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			checkTrace(t, layout, path, text)
		}
	}
}

func checkTrace(t *testing.T, layout, path string, text []byte) {
	t.Helper()
	tr, err := openTrace(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSession(&tr.header, Defaults(layout))
	if err != nil {
		t.Fatal(err)
	}
	b := biller{cache: map[prefix]cached{}}
	for {
		u, err := tr.next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		err = s.turn(&u, func(gap float64, step int, plan *stability.Plan) error {
			req := printed(gap, step, plan)
			before := b.Read
			b.bill(&req)
			if read := b.Read - before; read != plan.Expect {
				return fmt.Errorf("%d tokens read, %d expected", read, plan.Expect)
			}
			return nil
		})
		if err != nil {
			t.Fatalf("%s, %s, line %d: %v", layout, path, tr.line, err)
		}
	}
}

const explored = "testdata/steps/explore.jsonl"

// A turn with steps has a request for each of them, which follows its calls and results.
func TestReplayingSteps(t *testing.T) {
	const tools = `{"id":"x","cls":"agent","sys":2000,"tools":900,"files":[]}` + "\n"
	requests, err := replayed(tools+`{"u":5,"a":7,"st":[[0.5,30,400],[0.25,20,100,200]]}`+"\n"+`{"g":1,"u":6}`, stability.LayoutLog)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range requests {
		line := fmt.Sprintf("gap %g step %d:", r.Gap, r.Step)
		for _, it := range r.Items[2:] {
			line += fmt.Sprintf(" %s:%d/%d", it.Hash, it.Tokens, max(it.Blocks, 1))
		}
		got = append(got, line)
	}
	want := []string{
		"gap 0 step 0: user:0:5/1",
		"gap 0.5 step 1: user:0:5/1 step0:0:430/3",
		"gap 0.25 step 2: user:0:5/1 step0:0:430/3 step1:0:320/5",
		"gap 1 step 0: user:0:5/1 step0:0:430/3 step1:0:320/5 reply:0:7/1 user:1:6/1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if first := requests[0].Items; first[0].Hash != "tools" || first[0].Tokens != 900 || first[1].Hash != "system" {
		t.Errorf("the first request begins with %v", first[:2])
	}
}

// A summary replaces whole turns: the steps that remain follow their prompt.
func TestCompactionKeepsStepsWithTheirPrompt(t *testing.T) {
	const long = `{"g":9,"u":1,"a":2,"st":[[0,10,9000],[0,10,9000],[0,10,9000]]}` + "\n"
	requests, err := replayed(twoFiles+long+long+`{"g":9,"u":6}`, stability.LayoutLog)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, it := range requests[len(requests)-1].Items[2:] {
		got = append(got, it.Hash)
	}
	if want := "summary:2 user:1 step0:1 step1:1 step2:1 reply:1 user:2"; strings.Join(got, " ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, " "), want)
	}
}

// A session of 60 steps that read and search is mostly read from the cache, also inside its longest turn.
func TestStepsAreReadFromTheCache(t *testing.T) {
	text, err := os.ReadFile(explored)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := Replay(bytes.NewReader(text), &out, Defaults(stability.LayoutLog)); err != nil {
		t.Fatal(err)
	}
	steps := 0
	for line := range strings.Lines(out.String()) {
		if strings.Contains(line, `"step":`) {
			steps++
		}
	}
	bill, err := BillRequests(&out)
	if err != nil || steps != 60 || bill.Requests != 68 || bill.ReadShare() < 0.85 {
		t.Errorf("%d of %d requests follow a step, %.3f of the tokens are read, %v", steps, bill.Requests, bill.ReadShare(), err)
	}
	t.Logf("%.1f %% read, relative cost %.3f", 100*bill.ReadShare(), bill.Relative())
}

// FuzzReplay: any trace is replayed and billed, or refused.
func FuzzReplay(f *testing.F) {
	f.Add([]byte(twoFiles + `{"u":5,"a":7,"st":[[0.5,30,400],[0.25,20,100,200]]}`))
	f.Add([]byte(twoFiles + `{"g":1,"u":5,"a":3000,"sel":[0],"ed":[[0,510,77,10,60,88,0],[2,520,78,20,0,0,0]],"del":[1]}` + "\n" + `{"g":9,"u":6,"c":1}`))
	if text, err := os.ReadFile(train + "/acdc-22.jsonl"); err == nil {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, layout := range []string{stability.LayoutLog, stability.LayoutRipple} {
			var out bytes.Buffer
			if Replay(bytes.NewReader(text), &out, Options{Options: stability.Options{Layout: layout}}) != nil {
				continue
			}
			if _, err := BillRequests(&out); err != nil {
				t.Error(err)
			}
		}
	})
}

// replayed returns the requests of a trace.
func replayed(trace, layout string) ([]Request, error) {
	var out bytes.Buffer
	if err := Replay(strings.NewReader(trace), &out, Options{Options: stability.Options{Layout: layout}}); err != nil {
		return nil, err
	}
	var requests []Request
	dec := json.NewDecoder(&out)
	for dec.More() {
		var req Request
		if err := dec.Decode(&req); err != nil {
			return nil, err
		}
		requests = append(requests, req)
	}
	return requests, nil
}
