package vscodetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"strata/internal/hudtest"
	"strata/internal/testclient"
)

// hud waits for the HUD to be drawn in its panel.
func (e *editor) hud() *hudtest.Frame {
	return e.Frame(".localhost:"+e.site.port(), `document.querySelector(".app")`)
}

// session returns the id of the only session of the server.
func (e *editor) session(t *testing.T) (*testclient.Editor, string) {
	t.Helper()
	client := testclient.Connect(t, e.server.WebSocket(), e.server.Token)
	client.Initialize()
	var list struct {
		Sessions []struct{ SessionID string }
	}
	if err := client.Call("session/list", map[string]any{}, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Sessions) != 1 {
		t.Fatalf("there are %d sessions", len(list.Sessions))
	}
	return client, list.Sessions[0].SessionID
}

func TestHUDInAPanel(t *testing.T) {
	e := open(t)
	e.start(t)
	c := e.newSession()
	c.prompt("say Hello from the panel.")
	c.waitText(".transcript", "Hello from the panel.")
	client, sid := e.session(t)

	e.Click("#strata\\.strata\\.status, [id*='strata.status']")
	h := e.hud()
	h.Wait(fmt.Sprintf(`location.hash === "#/session/%s"`, sid))
	var budget struct{ Used int }
	if err := client.Call("_strata/context/budget", map[string]any{"sessionId": sid}, &budget); err != nil {
		t.Fatal(err)
	}
	h.Wait(fmt.Sprintf(`document.querySelector(".meter")?.dataset.used === "%d"`, budget.Used))

	hudtest.EvalIn[bool](h, `(document.querySelector("#tab-tiers").click(), true)`)
	h.Wait(`location.hash.endsWith("/tiers") && document.querySelector(".inspected .panel")`) // its part is loaded now

	e.command("Strata: Open HUD")
	h.Wait(`!location.hash.endsWith("/tiers")`)
	if panels := len(e.Texts(".tab[aria-label*='Strata'], .tab.active")); panels != 1 {
		t.Errorf("there are %d panels", panels)
	}

	hudtest.EvalIn[bool](h, `(document.querySelector("#tab-tiers").click(), true)`)
	h.Wait(`location.hash.endsWith("/tiers")`)
	e.write(t, "notes.txt", "Notes")
	e.openFile("notes.txt") // it hides the panel, whose document is gone then
	e.Click("#strata\\.strata\\.status, [id*='strata.status']")
	h = e.hud()
	h.Wait(fmt.Sprintf(`location.hash === "#/session/%s" && document.querySelector(".inspected, .transcript")`, sid))

	hudtest.EvalIn[bool](h, `(document.querySelector("#tab-history").click(), true)`)
	h.Wait(`location.hash.endsWith("/history")`)
	e.reloadStored(t, "strata.hud", sid+"/history")
	h = e.hud()
	e.connect()
	h.Wait(fmt.Sprintf(`location.hash === "#/session/%s/history" && document.querySelector(".inspected .panel")`, sid))
	if text := hudtest.EvalIn[string](h, `document.body.innerText`); strings.Contains(text, "Cannot") {
		t.Errorf("the HUD shows %s", text)
	}
}

// reloadStored loads the window again once its storage has an entry with all texts. The editor would ask the user while it
// has more to store.
func (e *editor) reloadStored(t *testing.T, texts ...string) {
	t.Helper()
	e.waitStored(t, texts...)
	hudtest.Eval[bool](e.Page, `(addEventListener("beforeunload", (event) => event.stopImmediatePropagation(), { capture: true }), true)`)
	e.Run(chromedp.Reload())
	e.waitWorkbench()
}

// waitStored waits until the storage of the editor, which it writes every few seconds, has an entry with all texts.
func (e *editor) waitStored(t *testing.T, texts ...string) {
	t.Helper()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // it is not a measurement
	defer cancel()
	for !hudtest.Eval[bool](e.Page, fmt.Sprintf(storedInEditor, jsonOf(texts))) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("the editor never stored %q", texts)
		}
	}
}

const storedInEditor = `(async () => {
	const finished = (request) => new Promise((resolve, reject) => {
		request.onsuccess = () => resolve(request.result);
		request.onerror = () => reject(request.error);
	});
	for (const { name } of await indexedDB.databases()) {
		if (!name.startsWith("vscode-web-state-db")) continue;
		const db = await finished(indexedDB.open(name));
		const values = db.objectStoreNames.contains("ItemTable") ? await finished(db.transaction("ItemTable").objectStore("ItemTable").getAll()) : [];
		db.close();
		if (values.some((value) => %s.every((text) => String(value).includes(text)))) return true;
	}
	return false;
})()`
