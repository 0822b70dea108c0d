package hudtest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// The size of TestADayOfUse. `make soak` runs 12 sessions and 400 turns.
var (
	daySessions = flag.Int("day-sessions", 3, "sessions of TestADayOfUse")
	dayTurns    = flag.Int("day-turns", 24, "turns of TestADayOfUse")
)

// half is the text of a reply that does not end.
const half = "Half of it"

// day is a day's use of one server: sessions in folders, whose turns read and edit files, fail, are repeated and stopped, in two windows.
type day struct {
	*World
	t        *testing.T
	e        *testclient.Editor
	cache    *upstream.Cache
	sessions []string
	never    chan struct{} // closed at the end of the test

	mu   sync.Mutex // guards the model's state
	rng  *rand.Rand
	n    int    // calls of tools so far
	next string // kind of the turn whose first request is to come

	pick     *rand.Rand
	restarts int
	shown    map[*Page]string // sessions in view
	unread   map[string]bool  // sessions with turns that ended out of view
	compared int              // requests that were compared with an earlier one
}

func newDay(t *testing.T) *day {
	d := &day{
		World: newPricedWorld(t, "profiles: {chat: {compaction: {compaction_trigger_tokens: 6000}}}\nbudgets:\n  day: {usd: 0.05}\n  month: {usd: 1000, per: month}\n"), t: t,
		cache: upstream.NewCache(upstream.CacheOptions{}), never: make(chan struct{}),
		rng: rand.New(rand.NewPCG(17, 0)), pick: rand.New(rand.NewPCG(17, 1)), shown: make(map[*Page]string), unread: make(map[string]bool),
	}
	t.Cleanup(func() { close(d.never) })
	d.Model.Choose(d.answer)
	for i := range 12 {
		d.write(t, fmt.Sprintf("part%d.go", i), source("part", 30+10*i))
	}
	d.e = d.Editor(t)
	for i := range *daySessions {
		folder := filepath.Join(d.Home.Project, fmt.Sprintf("service%d", i%4))
		if err := os.MkdirAll(folder, 0o700); err != nil {
			t.Fatal(err)
		}
		for j := range 3 {
			d.write(t, fmt.Sprintf("service%d/file%d.go", i%4, j), source("service", 20+20*j))
		}
		sid := d.e.NewSession(folder)
		ask[any](t, d.e, "session/set_config_option", sid, map[string]any{"configId": "approval", "value": "auto"})
		d.sessions = append(d.sessions, sid)
	}
	return d
}

// answer is the model: to a prompt it says something, often after it has read or edited a file; some requests fail at first.
func (d *day) answer(req *upstream.Request) upstream.Script {
	d.mu.Lock()
	defer d.mu.Unlock()
	kind, chance := d.next, d.rng.IntN(100)
	if len(req.Tools) == 0 || kind == "" { // a summary, or results of tools
		kind, chance = "", 99
	} else {
		d.next = ""
	}
	switch kind {
	case "Hold":
		return upstream.Script{Steps: []upstream.Step{upstream.Text(half), upstream.Hold(d.never)}}
	case "Fail":
		return upstream.Script{Status: 401}
	}
	d.n++
	id := fmt.Sprintf("toolu_%d", d.n)
	path := fmt.Sprintf("file%d.go", d.rng.IntN(3))
	var steps []upstream.Step
	switch {
	case chance < 5:
		return upstream.Script{Status: 529}
	case chance < 35:
		steps = append([]upstream.Step{upstream.Text("First the file.")}, upstream.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, path))...)
	case chance < 55:
		steps = upstream.Call(id, "edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"old_text":"func step3(","new_text":"func step3(n%d int, "}]}`, path, d.n))
	case chance < 65:
		steps = upstream.Call(id, "search", `{"pattern":"step1"}`)
	default:
		steps = []upstream.Step{upstream.Thinking("It is asked about "+path+".", "signature"), upstream.Text(d.words(req.LastText()))}
	}
	return upstream.Script{Steps: steps, Usage: d.cache.Serve(req).Usage}
}

// words returns a reply of a random length. It contains the name of the prompt, so that a page can wait for it.
func (d *day) words(prompt string) string {
	name, _, _ := strings.Cut(prompt, ":")
	if len(name) > 20 {
		name = "Done"
	}
	return fmt.Sprintf("Reply to %s.\n\n", name) + strings.Repeat("- `step1` is called before **step2**, which returns a part of its input.\n", 1+d.rng.IntN(12))
}

// any returns some session.
func (d *day) any() string { return d.sessions[d.pick.IntN(len(d.sessions))] }

// news marks a session, unless a window shows it.
func (d *day) news(sid string) {
	for _, shown := range d.shown {
		if shown == sid {
			return
		}
	}
	d.unread[sid] = true
}

// start sends a prompt, whose reply is of a kind: "Day", "Hold" or "Fail".
func (d *day) start(sid, kind, text string) *testclient.Turn {
	d.mu.Lock()
	d.next = kind
	d.mu.Unlock()
	return d.e.Start(sid, kind+" "+text)
}

// turn sends the n-th prompt, to a session that it chooses. Some are stopped, before or in the reply, and some fail.
func (d *day) turn(n int) {
	d.t.Helper()
	sid, kind := d.any(), "Day"
	switch n % 10 {
	case 3:
		kind = "Hold"
	case 5:
		kind = "Fail"
	}
	seen := d.e.After(testclient.Says(sid, testclient.AgentChunk, half))
	turn := d.start(sid, kind, fmt.Sprintf("%d: %s", n, strings.Repeat("What does the next step do with its input? ", 1+d.pick.IntN(40))))
	if kind == "Hold" {
		d.e.Expect(seen)
	}
	if kind == "Hold" || n%10 == 7 {
		if err := d.e.Cancel(sid); err != nil {
			d.t.Fatal(err)
		}
	}
	reply, err := turn.Wait() // a refused key is an error of the turn; what is shown is compared with what is stored
	if err != nil || reply.StopReason != "cancelled" {
		d.news(sid)
	}
}

// killed kills the server in the middle of a reply that the page shows, and starts it again: the half reply is kept.
func (d *day) killed(pages ...*Page) {
	d.t.Helper()
	p, sid := pages[0], d.shown[pages[0]]
	d.start(sid, "Hold", "until the server is killed")
	p.WaitText(".transcript", half)
	d.Kill()
	d.restart(pages...)
	p.WaitText(".transcript", half)
	p.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)
}

// restart starts the server again, for the windows that were connected to the one before.
func (d *day) restart(pages ...*Page) {
	d.t.Helper()
	d.Restart(binary.Options{})
	d.e = d.Editor(d.t)
	d.restarts++
	title := fmt.Sprint("After restart ", d.restarts)
	ask[any](d.t, d.e, "_strata/session/rename", d.sessions[0], map[string]any{"title": title})
	for _, p := range pages {
		p.WaitText(".line-title", title) // connected again
	}
}

func TestADayOfUse(t *testing.T) {
	d := newDay(t)
	first := Open(t, d.Server)
	first.Run(chromedp.EmulateViewport(1440, 900))
	second := first.Another(Address(t, d.Server))
	second.Run(chromedp.EmulateViewport(1440, 900))
	d.show(first, d.sessions[0])
	d.show(second, d.sessions[len(d.sessions)-1])
	for n := range *dayTurns {
		switch n {
		case *dayTurns / 3:
			d.marksAgree(first, second)
			d.agrees(first)
			for _, p := range []*Page{first, second} {
				p.AllowAll() // its connections are refused while there is no server
			}
			d.killed(first, second)
		case *dayTurns * 2 / 3:
			d.Stop()
			d.restart(first, second)
		}
		d.turn(n)
	}
	d.marksAgree(first, second)
	d.agrees(first)
	t.Log(d.measures(first))
	d.agrees(second)
	t.Log(d.measures(second))
	m := d.happened()
	t.Logf("%d turns in %d sessions: %+v, %d requests compared", *dayTurns, len(d.sessions), m, d.compared)
	if m.calls < *dayTurns || m.failed == 0 || m.stopped == 0 || m.compactions == 0 || m.tools == 0 || d.compared == 0 {
		t.Error("the day is too quiet")
	}
}
