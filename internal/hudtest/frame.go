package hudtest

import (
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// OpenAddress opens an address of any site in a new window.
func OpenAddress(t testing.TB, address string) *Page {
	t.Helper()
	p := newPage(t)
	p.Run(chromedp.Navigate(address))
	return p
}

// Frame waits for a frame of another site whose address contains a text and in which a JavaScript expression is true, and
// returns it. A frame has no console of its own: problems are those of its page.
func (p *Page) Frame(address, expression string) *Page {
	p.t.Helper()
	frames := make(map[string]*Page)
	deadline := time.After(patience)
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		targets, err := chromedp.Targets(p.ctx)
		if err != nil {
			p.t.Fatal(err)
		}
		for _, info := range targets {
			id := string(info.TargetID)
			if info.Type != "iframe" || !strings.Contains(info.URL, address) {
				continue
			}
			frame, known := frames[id]
			if !known {
				ctx, end := chromedp.NewContext(p.ctx, chromedp.WithTargetID(info.TargetID))
				p.t.Cleanup(end)
				frame = &Page{t: p.t, ctx: ctx}
				frames[id] = frame
			}
			if frame.holds(expression) {
				return frame
			}
		}
		select {
		case <-ticker.C:
		case <-deadline:
			p.t.Fatalf("no frame of %s reached %s; the page shows:\n%s\nproblems: %q", address, expression, p.Text("body"), p.Problems())
		}
	}
}
