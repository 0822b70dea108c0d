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

// day is a day's use of one server: sessions in folders, whose turns read and edit files, fail, are repeated and stopped.
type day struct {
	*World
	t        *testing.T
	e        *testclient.Editor
	cache    *upstream.Cache
	sessions []string

	mu  sync.Mutex // guards the rest
	rng *rand.Rand
	n   int // calls of tools so far
}

func newDay(t *testing.T) *day {
	d := &day{
		World: newPricedWorld(t, "profiles: {chat: {compaction: {compaction_trigger_tokens: 12000}}}\n"), t: t,
		cache: upstream.NewCache(upstream.CacheOptions{}), rng: rand.New(rand.NewPCG(17, 0)),
	}
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
	chance := d.rng.IntN(100)
	last := req.LastText()
	if len(req.Tools) == 0 || !strings.HasPrefix(last, "Day ") { // a summary, or results of tools
		chance = 99
	}
	d.n++
	id := fmt.Sprintf("toolu_%d", d.n)
	path := fmt.Sprintf("file%d.go", d.rng.IntN(3))
	var steps []upstream.Step
	switch {
	case chance < 5:
		return upstream.Script{Status: 529}
	case chance < 8:
		return upstream.Script{Status: 401}
	case chance < 35:
		steps = append([]upstream.Step{upstream.Text("First the file.")}, upstream.Call(id, "read_file", fmt.Sprintf(`{"path":%q}`, path))...)
	case chance < 55:
		steps = upstream.Call(id, "edit_file", fmt.Sprintf(`{"path":%q,"edits":[{"old_text":"func step3(","new_text":"func step3(n%d int, "}]}`, path, d.n))
	case chance < 65:
		steps = upstream.Call(id, "search", `{"pattern":"step1"}`)
	default:
		steps = []upstream.Step{upstream.Thinking("It is asked about "+path+".", "signature"), upstream.Text(d.words(last))}
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

// turn sends the n-th prompt, to a session that it chooses. One of ten is stopped.
func (d *day) turn(n int) {
	d.t.Helper()
	d.mu.Lock()
	sid, stopped, length := d.sessions[d.rng.IntN(len(d.sessions))], d.rng.IntN(10) == 0, d.rng.IntN(40)
	d.mu.Unlock()
	turn := d.e.Start(sid, fmt.Sprintf("Day %d: %s", n, strings.Repeat("What does the next step do with its input? ", 1+length)))
	if stopped {
		if err := d.e.Cancel(sid); err != nil {
			d.t.Fatal(err)
		}
	}
	_, _ = turn.Wait() // a refused key is an error of the turn; what is shown is compared with what is stored
}

// agrees waits until the page shows of each session what the server returns.
func (d *day) agrees(p *Page) {
	d.t.Helper()
	for _, sid := range d.sessions {
		p.Session(sid)
		p.Tab(sid, "cost")
		usage := ask[struct {
			Totals struct {
				Calls int
				Cost  float64
			}
		}](d.t, d.e, "_strata/usage/list", sid, nil)
		if usage.Totals.Calls > 0 {
			p.Equals(`+document.querySelector("[data-cost]")?.dataset.cost`, usage.Totals.Cost)
		}
		p.Tab(sid, "budget")
		budgetIsThat(d.t, p, d.e, sid)
		d.showsNewest(p, sid)
	}
}

// showsNewest waits until the conversation contains the beginning of the newest text of the transcript.
func (d *day) showsNewest(p *Page, sid string) {
	d.t.Helper()
	if all := texts(transcript(d.t, d.e, sid)); len(all) > 0 {
		line, _, _ := strings.Cut(all[len(all)-1], "\n")
		p.WaitText(".transcript", strings.TrimSpace(line[:min(len(line), 60)]))
	}
}

func TestADayOfUse(t *testing.T) {
	d := newDay(t)
	first := Open(t, d.Server)
	first.Run(chromedp.EmulateViewport(1440, 900))
	first.Session(d.sessions[0])
	second := first.Another(Address(t, d.Server))
	second.Session(d.sessions[len(d.sessions)-1])
	for n := range *dayTurns {
		if n == *dayTurns/2 {
			d.agrees(first)
			first.Allow("ERR_CONNECTION_REFUSED")
			second.Allow("ERR_CONNECTION_REFUSED")
			d.Stop()
			d.Restart(binary.Options{})
			d.e = d.Editor(t)
		}
		d.turn(n)
	}
	d.agrees(first)
	d.agrees(second)
}
