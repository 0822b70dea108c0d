package hudtest

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp/kb"

	"strata/internal/testclient"
)

// manySessions creates sessions in a folder and returns the first one.
func manySessions(t *testing.T, e *testclient.Editor, folder string, n int) (first string) {
	t.Helper()
	first = e.NewSession(folder)
	const atOnce = 50
	for made := 1; made < n; {
		var running, closing []*testclient.Request
		for ; len(running) < atOnce && made < n; made++ {
			running = append(running, e.Go("session/new", map[string]any{"cwd": folder}))
		}
		for _, r := range running {
			var session struct{ SessionID string }
			if err := r.Wait(&session); err != nil {
				t.Fatal(err)
			}
			closing = append(closing, e.Go("session/close", map[string]any{"sessionId": session.SessionID})) // the memory has room for 1,000
		}
		for _, r := range closing {
			if err := r.Wait(nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	return first
}

// A list of 2,000 sessions draws as few rows as a short one, also while it changes, and its last row has its menu.
func TestH06AListOf2000SessionsDrawsWhatIsVisible(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	oldest := manySessions(t, e, w.Home.Project, 2000)
	last := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Wait(`document.querySelector(".sidebar-note")?.innerText.includes("1,000 sessions")`)
	Eval[bool](p, `(() => {
		window.most = 0;
		window.drawn = 0;
		const list = document.querySelector(".session-list");
		const count = (all) => {
			window.most = Math.max(window.most, list.querySelectorAll(".line").length);
			for (const m of all) window.drawn += m.addedNodes.length;
		};
		new MutationObserver(count).observe(list, { childList: true, subtree: true });
		count([]);
		return true;
	})()`)

	// A change of one session draws at most its row and those that it moves.
	if err := e.Call("_strata/session/rename", map[string]any{"sessionId": last, "title": "Renamed elsewhere"}, nil); err != nil {
		t.Fatal(err)
	}
	newest := e.NewSession(w.Home.Project)
	p.Wait(fmt.Sprintf("document.querySelector(%s)", quote(rowOf(newest))))
	if drawn := Eval[int](p, "window.drawn"); drawn > 20 {
		t.Errorf("two events add %d elements", drawn)
	}

	// Down to the last one, which the list loads meanwhile.
	p.Wait(fmt.Sprintf(`(() => {
		const list = document.querySelector(".session-list");
		list.scrollTop = list.scrollHeight;
		return document.querySelector(%s);
	})()`, quote(rowOf(oldest))))
	p.focusRow(oldest)
	p.Type(kb.ContextMenu)
	p.Wait(focusedText + `?.startsWith("Rename session")`)
	p.Type(kb.Enter)
	p.Wait(`document.activeElement?.matches(".line .title-field")`)
	p.Type("Renamed at the end" + kb.Enter)
	p.Wait(fmt.Sprintf(`(() => {
		const focus = document.activeElement;
		return focus.matches(".line a") && focus.dataset.session === %s && focus.innerText.includes("Renamed at the end");
	})()`, quote(oldest))) // the row moves to the top when the focus leaves the list
	p.Click("#search")
	p.Wait(`(document.querySelector(".session-list").scrollTop = 0, document.querySelector(".line-title")?.innerText === "Renamed at the end")`)
	if most := Eval[int](p, "window.most"); most > 100 {
		t.Errorf("up to %d rows are drawn", most)
	}
}
