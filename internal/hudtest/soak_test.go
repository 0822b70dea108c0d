package hudtest

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/heapprofiler"
	"github.com/chromedp/cdproto/memory"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"strata/internal/binary"
)

// soakTurns is the number of turns while the page is open. The default detects a leak of 50 KB per turn; `make soak` runs
// 2,000 turns, and docs/benchmarks.md has their figures.
var soakTurns = flag.Int("turns", 60, "turns of TestLongUseLevelsOff")

// soakSamples is the number of samples during the run.
const soakSamples = 4

// The allowed growth in the second half of the turns. On the page only the log of calls may grow, up to 5,000. The server
// keeps a head of about 250 bytes per message, and its store caches contents of messages until its cache is full.
const (
	pageGrowth      = 3 << 19 // bytes of the page's heap
	nodeGrowth      = 300
	listenerGrowth  = 50
	goroutineGrowth = 5
	serverGrowth    = 2 << 20 // bytes of the server's heap, plus, for each turn:
	serverTurn      = 4 << 10
)

// soakLow is the number of consecutive turns after which the server is measured for one sample. The minimum is used: the
// value after a garbage collection and without a running request.
const soakLow = 12

// use is the resource use of the page and the server after some turns.
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
	w.Restart(binary.Options{Env: []string{"GOGC=20"}}) // keeps the heap close to the live memory
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

// lookAtAll waits until the page shows the newest turn, and opens each tab.
func (p *Page) lookAtAll(sid string, turn int) {
	p.t.Helper()
	p.WaitText(".transcript", fmt.Sprintf("Turn %d.", turn))
	for _, tab := range p.tabs() {
		Eval[string](p, fmt.Sprintf("location.hash = '#/session/' + %s + '/' + %s", quote(sid), quote(tab)))
		p.Wait(fmt.Sprintf(`document.querySelector("[role=tab][aria-selected=true]")?.id.includes(%s)`, quote(tab)))
		Eval[int](p, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(1))))")
	}
	p.Wait(`document.querySelector("button[aria-label='Send prompt']")`)
}

// tabs are the last path segments of the inspector's tabs.
func (p *Page) tabs() []string {
	p.t.Helper()
	return Eval[[]string](p, `[...document.querySelectorAll("[role=tab]")].map((e) => e.id.replace(/^.*-/, ""))`)
}

// use returns the server's current resource use.
func (w *World) use(t testing.TB) use {
	t.Helper()
	figures := w.Figures(t)
	return use{
		serverHeap: figures["go_memstats_heap_alloc_bytes"], goroutines: int(figures["go_goroutines"]),
		residentOfServer: int(figures["process_resident_memory_bytes"]),
	}
}

// least returns the minimum of two measurements.
func (u use) least(other use) use {
	u.serverHeap, u.goroutines = min(u.serverHeap, other.serverHeap), min(u.goroutines, other.goroutines)
	u.residentOfServer = min(u.residentOfServer, other.residentOfServer)
	return u
}

// use adds the page's resource use after a garbage collection to u.
func (p *Page) use(u use) use {
	p.t.Helper()
	u.elementsOfPage = elements(p)
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		for range 3 { // weakly referenced objects are freed by a later collection
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
