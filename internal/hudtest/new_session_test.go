package hudtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// newDialog opens the dialog of a new session and empties its folder.
func newDialog(p *Page) {
	p.t.Helper()
	p.Wait(`!document.querySelector("button[aria-label^='Create session']").disabled`)
	p.Click("button[aria-label^='Create session']")
	p.Wait(`document.activeElement?.id === "new-folder"`)
}

// A new session's folder is one of the recent ones, or is completed.
func TestH29FolderOfANewSession(t *testing.T) {
	w := NewWorld(t)
	for _, name := range []string{"alpha/inner", "alpine", "beta", ".hidden"} {
		if err := os.MkdirAll(filepath.Join(w.Home.Project, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	e := w.Editor(t)
	older, newer := filepath.Join(w.Home.Project, "beta"), filepath.Join(w.Home.Project, "alpine")
	e.NewSession(older)
	e.NewSession(newer)
	p := Open(t, w.Server)
	p.Wait(`document.querySelectorAll(".folder").length === 2`)
	newDialog(p)
	const field = `document.querySelector("#new-folder").value`
	p.Wait(field + " === " + quote(newer)) // the most recent one
	p.Wait(`[...document.querySelectorAll("[role=option]")].map((o) => o.title).join() === ` + quote(newer+","+older))

	// A recent folder by the keyboard.
	p.Type(kb.ArrowDown + kb.ArrowDown)
	p.Wait(`document.querySelector("[role=option][aria-selected=true]")?.title === ` + quote(older))
	p.Type(kb.Enter)
	p.Wait(field + " === " + quote(older))

	// Completion: what is typed stays in the field, Tab takes the only match and goes on in it.
	Eval[bool](p, `(document.querySelector("#new-folder").select(), true)`)
	p.Type(w.Home.Project + "/alp")
	p.Wait(`[...document.querySelectorAll("[role=option]")].map((o) => o.title).sort().join() === ` +
		quote(filepath.Join(w.Home.Project, "alpha")+","+newer))
	p.Type("h" + kb.Tab) // faster than the server
	p.Wait(field + " === " + quote(filepath.Join(w.Home.Project, "alpha")+"/"))
	p.Wait(`document.querySelector("[role=option]")?.title === ` + quote(filepath.Join(w.Home.Project, "alpha", "inner")))
	p.Type(kb.ArrowDown + kb.Enter)
	p.Wait(field + " === " + quote(filepath.Join(w.Home.Project, "alpha", "inner")))

	// Several matches: Tab takes what they share, and leaves the field if that is nothing.
	Eval[bool](p, `(document.querySelector("#new-folder").select(), true)`)
	p.Type(w.Home.Project + "/al" + kb.Tab)
	p.Wait(field + " === " + quote(w.Home.Project+"/alp"))
	p.Wait(`document.querySelectorAll("[role=option]").length === 2`)
	p.Type(kb.Tab)
	p.Wait(`document.activeElement?.id === "new-model"`)
	Eval[bool](p, `(document.querySelector("#new-folder").select(), document.querySelector("#new-folder").focus(), true)`)
	p.Type(filepath.Join(w.Home.Project, "alpha", "inner"))
	p.Type(kb.Enter)
	p.Wait(`location.hash.startsWith("#/session/")`)
	p.WaitText(".title-path", "inner")

	// Hidden folders need their dot.
	newDialog(p)
	Eval[bool](p, `(document.querySelector("#new-folder").select(), true)`)
	p.Type(w.Home.Project + "/")
	p.Wait(`document.querySelectorAll("[role=option]").length === 3`)
	p.Type(".")
	p.Wait(`document.querySelector("[role=option]")?.title.endsWith(".hidden")`)
}

// A folder in which no session may work is refused where it was typed.
func TestH29FoldersOutsideTheRoots(t *testing.T) {
	roots := t.TempDir()
	if err := os.MkdirAll(filepath.Join(roots, "inside"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := NewWorld(t, "workspaces: {roots: ["+quote(roots)+"]}\n")
	p := Open(t, w.Server)
	newDialog(p)
	p.Type("/")
	p.Wait(`document.querySelectorAll("[role=option]").length === 1`)
	p.Type(kb.ArrowDown + kb.Tab)
	p.Wait(`document.querySelector("[role=option]")?.title.endsWith("inside")`)
	Eval[bool](p, `(document.querySelector("#new-folder").select(), true)`)
	p.Type(w.Home.Project + kb.Enter)
	p.WaitText("#new-folder-note", "outside workspaces.roots")
}

// The model of a new session is chosen with its window and its price, and the last choice is remembered.
func TestH29ModelOfANewSession(t *testing.T) {
	w := NewWorld(t, "models: {local/test: {price: {input: 3, output: 15}}}\n")
	e := w.Editor(t)
	e.NewSession(w.Home.Project)
	var info struct {
		Models []struct {
			Name   string
			Window int
			Price  *struct{ Input, Output float64 }
		}
	}
	if err := e.Call("_strata/server/info", map[string]any{}, &info); err != nil {
		t.Fatal(err)
	}
	p := Open(t, w.Server)
	newDialog(p)
	p.Wait(`document.querySelectorAll("#new-model option").length === ` + fmt.Sprint(len(info.Models)))
	for i, m := range info.Models {
		text := Eval[string](p, `document.querySelectorAll("#new-model option")[`+fmt.Sprint(i)+`].textContent`)
		want := "unknown price"
		switch {
		case m.Price != nil && m.Price.Input == 0:
			want = "free"
		case m.Price != nil:
			want = fmt.Sprintf("$%v in, $%v out", m.Price.Input, m.Price.Output)
		}
		if !strings.Contains(text, want) || !strings.Contains(text, "window") {
			t.Errorf("the option of %s is %q, want %q", m.Name, text, want)
		}
	}
	other := info.Models[len(info.Models)-1].Name
	Eval[bool](p, `(() => { const s = document.querySelector("#new-model"); s.value = `+quote(other)+`; s.dispatchEvent(new Event("change", { bubbles: true })); return true })()`)
	p.Click(".dialog .primary")
	p.Wait(`document.querySelector("select[data-option=model]")?.value === ` + quote(other))
	p.Run(chromedp.Reload())
	newDialog(p)
	p.Wait(`document.querySelector("#new-model")?.value === ` + quote(other))

	// What other programs wrote into the memory does no harm.
	for _, hostile := range []string{`{"folder": 5, "model": {}}`, `[]`, `null`, `not JSON`, `{"model": "gone/model"}`} {
		Eval[bool](p, `(localStorage.setItem("strata.new-session", `+quote(hostile)+`), true)`)
		p.Run(chromedp.Reload())
		newDialog(p)
		p.Wait(`document.querySelector("#new-model")?.value === "local/test"`)
	}
}
