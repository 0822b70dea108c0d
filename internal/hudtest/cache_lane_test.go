package hudtest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// cacheOutlook is the result of _strata/context/cache.
type cacheOutlook struct {
	Caching           string
	WarmMs            int
	ExpectedCacheRead int
	Now               struct{ Cost *float64 }
	Cold              *struct{ Cost *float64 }
	Marks             []struct{ Kind, Edit, EditID string }
}

// The lane shows what each call read, wrote and missed, with the edits between them, as the server says. Its parts can be told
// by keyboard and by pointer, and read as a table.
func TestTheLaneOfTheCache(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := richSession(t, w, e)
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "cost")
	isThat := func() {
		t.Helper()
		u := ask[struct {
			Calls []struct {
				CallID                                   string
				Purpose                                  string
				CacheRead, CacheWrite, ExpectedCacheRead int
			}
		}](t, e, "_strata/usage/list", sid, nil)
		o := ask[cacheOutlook](t, e, "_strata/context/cache", sid, nil)
		var rows []string
		missed := 0
		for _, c := range u.Calls {
			n := max(c.ExpectedCacheRead-c.CacheRead, 0)
			missed += n
			rows = append([]string{fmt.Sprint(c.CallID, " ", n)}, rows...)
		}
		if missed == 0 || len(o.Marks) == 0 {
			t.Fatalf("no call missed what it expected, or there is no mark: %+v", o)
		}
		p.Equals(data("[data-lane-call]", "laneCall", "missed"), rows)
		var marks []string
		for _, m := range o.Marks {
			marks = append(marks, m.Kind)
		}
		p.Equals(`[...document.querySelectorAll("[data-lane]")].map((e) => e.dataset.lane).filter((kind) => kind !== "call")`, marks)
	}
	isThat()
	prompt(t, e, sid, "Once more.")
	isThat()

	p.WaitText(".lane-words", "Missed")
	Eval[int](p, `(document.querySelector(".lane").focus(), 1)`)
	p.Type(kb.ArrowLeft)
	p.WaitText(".lane-words", "Call ")
	newest := p.Text(".lane-words")
	if !strings.Contains(newest, " read, ") || !strings.Contains(newest, " written, ") {
		t.Errorf("the newest call is told as %q", newest)
	}
	p.Type(kb.ArrowLeft)
	p.Wait(fmt.Sprintf(`document.querySelector(".lane-words").innerText !== %s`, quote(newest)))
	p.Type(kb.Escape)
	p.WaitText(".lane-words", "Missed")
	Eval[int](p, `((at) => (document.querySelector(".lane").dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: at.left + at.width / 2, clientY: at.top})), 1))(document.querySelector('[data-lane="compaction"]').getBoundingClientRect())`)
	p.WaitText(".lane-words", "History compacted")
	p.Click(".panel details summary")
	p.WaitText(".panel details table", "History compacted")
}

// At the prompt stands how long the cache stays warm, and what the input of the next request costs before and after, as the
// server says.
func TestThePromptTellsHowLongTheCacheIsWarm(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".warmth", "Cache cold, $")
	isThat := func() {
		t.Helper()
		o := ask[cacheOutlook](t, e, "_strata/context/cache", sid, nil)
		if o.WarmMs <= 0 || o.WarmMs > int(5*time.Minute/time.Millisecond) || o.Cold == nil || *o.Now.Cost*2 > *o.Cold.Cost {
			t.Fatalf("%+v", o)
		}
		p.Equals(`[+document.querySelector(".warmth")?.dataset.warm, +document.querySelector(".warmth")?.dataset.cold]`, []float64{*o.Now.Cost, *o.Cold.Cost})
	}
	prompt(t, e, sid, "Remember this. "+strings.Repeat("A word of a long prompt. ", 400))
	isThat()
	p.Wait(`/^Cache warm for (5 min 0|4 min \d+) s, \$0\.\d+, then \$0\.\d+$/.test(document.querySelector(".warmth").innerText)`)
	before := p.Text(".warmth")
	p.Wait(fmt.Sprintf(`document.querySelector(".warmth").innerText !== %s`, quote(before)))
	prompt(t, e, sid, "Go on.")
	isThat()
	ask[any](t, e, "session/set_config_option", sid, map[string]any{"configId": "model", "value": "offline/digest"})
	p.WaitText(".warmth", "No cache, price unknown")
	if problems := p.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

// withoutCalibration keeps the page from asking again after what other sessions do (web/hud/src/store/calibration.ts).
const withoutCalibration = `{
	const { setTimeout } = window;
	window.setTimeout = (run, ms, ...more) => (ms === 3000 ? 0 : setTimeout(run, ms, ...more));
}`

// When the time is over by the browser's clock, the page asks the server again.
func TestTheCountdownEndsInAQuestion(t *testing.T) {
	w := newPricedWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "Remember this. "+strings.Repeat("A word of a long prompt. ", 400))
	p := Open(t, w.Server)
	p.beforeLoad(withoutCalibration)
	p.Run(chromedp.Reload())
	p.Session(sid)
	p.WaitText(".warmth", "Cache warm for 4 min")
	Eval[int](p, `((send, Real) => {
		window.asked = 0;
		WebSocket.prototype.send = function (text) { if (String(text).includes("_strata/context/cache")) window.asked++; send.call(this, text); };
		window.Date = class extends Real {
			constructor(...given) { super(...(given.length > 0 ? given : [Real.now() + 600_000])); }
			static now() { return Real.now() + 600_000; }
		};
		return 1;
	})(WebSocket.prototype.send, Date)`)
	p.Wait(`window.asked === 1 && /^Cache warm for [1-4] min/.test(document.querySelector(".warmth")?.innerText ?? "")`)
	before := p.Text(".warmth")
	p.Wait(fmt.Sprintf(`document.querySelector(".warmth").innerText !== %s`, quote(before)))
	if n := Eval[int](p, "window.asked"); n != 1 {
		t.Errorf("the server was asked %d times", n)
	}
}
