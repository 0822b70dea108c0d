package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"strata/internal/binary"
	"strata/internal/hudtest"
)

const (
	paints         = 9
	listedSessions = 200
)

// noteList records when the list of sessions has its first lines, in milliseconds since the page was requested.
const noteList = `(() => {
	const look = () => {
		if (document.querySelector(".sidebar .line")) window.listed = performance.now();
		else requestAnimationFrame(look);
	};
	look();
})()`

const firstPaint = `performance.getEntriesByName("first-contentful-paint")[0]?.startTime`

// measureFirstPaint measures the time until the HUD shows something and until it shows its list, with an empty browser cache.
func measureFirstPaint(b *testing.B) []row {
	if err := hudtest.Available(); err != nil {
		b.Skipf("first paint is not measured: %v", err)
	}
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{})
	storeListed(b, server)
	server.Stop()
	server.Restart(binary.Options{}) // all sessions are stored and none is in memory
	bare := startChild(b, "page").line(b)

	p := hudtest.Open(b, server)
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		if _, err := cdp.Call(ctx, target, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
			return err
		}
		_, err := cdp.Call(ctx, target, cdpage.AddScriptToEvaluateOnNewDocument, cdpage.AddScriptToEvaluateOnNewDocumentParams{Source: noteList})
		return err
	}))
	var listed []float64
	ours := func() float64 {
		p.Run(chromedp.Navigate(server.HTTP("/")))
		p.Wait("window.listed && " + firstPaint)
		listed = append(listed, milliseconds(p, "window.listed"))
		return milliseconds(p, firstPaint)
	}
	theirs := func() float64 {
		p.Run(chromedp.Navigate(bare))
		p.Wait(firstPaint)
		return milliseconds(p, firstPaint)
	}
	painted := takeTurns(paints, ours, theirs)
	return []row{
		alone("first paint, 200 sessions", nanoseconds, median(painted.ours), float64(500*time.Millisecond)).versus(median(painted.theirs), "a page with one line of text"),
		alone("  until the list is shown", nanoseconds, median(listed), 0),
	}
}

// milliseconds converts a time of the page to nanoseconds.
func milliseconds(p *hudtest.Page, expression string) float64 {
	return hudtest.Eval[float64](p, expression) * float64(time.Millisecond)
}

// storeListed creates sessions, each with one exchange and a title.
func storeListed(b *testing.B, server *binary.Server) {
	b.Helper()
	const perConnection = 50 // fewer than it may have subscriptions
	for first := 0; first < listedSessions; first += perConnection {
		e := connect(b, server.Info)
		for n := first; n < first+perConnection; n++ {
			id := e.newSession(b, server.Home.Project)
			e.call(b, "_strata/history/append", map[string]any{"sessionId": id, "messages": []any{
				map[string]any{"role": "user", "content": fmt.Sprintf("How does part %d of the parser end a list?", n)},
				map[string]any{"role": "assistant", "content": "At the bracket that closes it."},
			}}, nil)
			e.call(b, "_strata/session/rename", map[string]any{"sessionId": id, "title": fmt.Sprintf("Part %d of the parser", n)}, nil)
		}
		e.Close()
	}
}
