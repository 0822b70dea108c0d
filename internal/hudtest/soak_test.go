package hudtest

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"strata/internal/binary"
)

// soakTurns is how many turns the open page sees. With the default a leak of 15 KB a turn shows, in ten seconds or so;
// docs/benchmarks.md has the figures of ten times as many.
var soakTurns = flag.Int("turns", 200, "turns of TestLongUseLevelsOff")

// soakSamples is how often all is looked at and measured on the way.
const soakSamples = 4

// What the second half of the turns may add. On the page nothing may grow but the log of calls, which ends at 5,000. The
// server keeps a head of some 250 bytes of each message, and its store the contents of messages until its cache is full.
const (
	pageGrowth      = 3 << 19 // bytes of the page's heap
	nodeGrowth      = 300
	listenerGrowth  = 50
	goroutineGrowth = 5
	serverGrowth    = 2 << 20 // bytes of the server's heap, and for each turn:
	serverTurn      = 4 << 10
)

// soakLow is after how many turns in a row the server is looked at for one sample. The least of them counts: what was just
// collected, and with no request under way.
const soakLow = 12

// use is what the page and the server hold after some turns.
type use struct {
	turns                            int
	pageHeap, serverHeap             float64
	nodes, listeners, goroutines     int
	residentOfServer, elementsOfPage int
}

func (u use) String() string {
	return fmt.Sprintf("%5d turns: page %.2f MiB, %d nodes, %d listeners, %d elements; server %.2f MiB, %d goroutines, resident %.1f MiB",
		u.turns, u.pageHeap/(1<<20), u.nodes, u.listeners, u.elementsOfPage, u.serverHeap/(1<<20), u.goroutines, float64(u.residentOfServer)/(1<<20))
}

func TestLongUseLevelsOff(t *testing.T) {
	w := NewWorld(t, "models:\n  local/test: {window: 16000, max_output: 1000}\n")
	w.Stop()
	w.Restart(binary.Options{Env: []string{"GOGC=20"}}) // the heap is soon what it holds
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)

	turns := *soakTurns
	turn := func(n int) {
		text := fmt.Sprintf("Turn %d. %s", n, strings.Repeat("It says a little more. ", 5))
		if _, err := e.Prompt(sid, text); err != nil {
			t.Fatalf("turn %d: %v", n, err)
		}
	}
	step := max(turns/soakSamples, soakLow)
	var samples []use
	var low use
	for n := 1; n <= turns; n++ {
		turn(n)
		switch left := (step - n%step) % step; {
		case left == soakLow-1:
			low = w.use(t)
		case left < soakLow:
			low = low.least(w.use(t))
		}
		if n%step == 0 {
			p.lookAtAll(sid, n)
			low.turns = n
			samples = append(samples, p.use(low))
			t.Log(samples[len(samples)-1])
		}
	}
	half, all := samples[len(samples)/2-1], samples[len(samples)-1]
	for what, grown := range map[string]struct{ from, to, by float64 }{
		"the page's heap":         {half.pageHeap, all.pageHeap, pageGrowth},
		"the page's nodes":        {float64(half.nodes), float64(all.nodes), nodeGrowth},
		"the page's listeners":    {float64(half.listeners), float64(all.listeners), listenerGrowth},
		"the server's heap":       {half.serverHeap, all.serverHeap, serverGrowth + serverTurn*float64(all.turns-half.turns)},
		"the server's goroutines": {float64(half.goroutines), float64(all.goroutines), goroutineGrowth},
	} {
		if grown.to > grown.from+grown.by {
			t.Errorf("%s went from %.0f after %d turns to %.0f after %d", what, grown.from, half.turns, grown.to, all.turns)
		}
	}
	if all.elementsOfPage > maxElements {
		t.Errorf("the page has %d elements", all.elementsOfPage)
	}
}

// lookAtAll waits until the page shows the newest turn, and opens each tab once.
func (p *Page) lookAtAll(sid string, turn int) {
	p.t.Helper()
	p.WaitText(".transcript", fmt.Sprintf("Turn %d.", turn))
	for _, tab := range p.tabs() {
		Eval[string](p, fmt.Sprintf("location.hash = '#/session/' + %s + '/' + %s", quote(sid), quote(tab)))
		p.Wait(fmt.Sprintf(`document.querySelector("[role=tab][aria-selected=true]")?.id.includes(%s)`, quote(tab)))
		Eval[int](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
	}
	p.Wait(`document.querySelector("button[aria-label=Send]")`)
}

// tabs are the last parts of the addresses of the inspector's tabs.
func (p *Page) tabs() []string {
	p.t.Helper()
	return Eval[[]string](p, `[...document.querySelectorAll("[role=tab]")].map((e) => e.id.replace(/^.*-/, ""))`)
}

// use is what the server holds now.
func (w *World) use(t testing.TB) use {
	t.Helper()
	figures := w.figures(t)
	return use{
		serverHeap: figures["go_memstats_heap_alloc_bytes"], goroutines: int(figures["go_goroutines"]),
		residentOfServer: int(figures["process_resident_memory_bytes"]),
	}
}

// least is the least that the server held at two times.
func (u use) least(other use) use {
	u.serverHeap, u.goroutines = min(u.serverHeap, other.serverHeap), min(u.goroutines, other.goroutines)
	u.residentOfServer = min(u.residentOfServer, other.residentOfServer)
	return u
}

// use adds to u what the page holds after a collection.
func (p *Page) use(u use) use {
	p.t.Helper()
	u.elementsOfPage = elements(p)
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for range 3 { // what weak references held goes with a later collection
			if _, err := cdp.Call(ctx, target, heapprofiler.CollectGarbage, cdp.Empty{}); err != nil {
				return err
			}
		}
		heap, err := cdp.Call(ctx, target, runtime.GetHeapUsage, cdp.Empty{})
		if err != nil {
			return err
		}
		counters, err := cdp.Call(ctx, target, memory.GetDOMCounters, cdp.Empty{})
		u.pageHeap, u.nodes, u.listeners = heap.UsedSize, int(counters.Nodes), int(counters.JsEventListeners)
		return err
	}))
	return u
}

// figures are those of /metrics that have no labels.
func (w *World) figures(t testing.TB) map[string]float64 {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.HTTP("/metrics"), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	all := make(map[string]float64)
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if figure, err := strconv.ParseFloat(value, 64); err == nil {
			all[name] = figure
		}
	}
	if all["go_goroutines"] == 0 {
		t.Fatalf("/metrics tells no goroutines: %v", all)
	}
	return all
}
