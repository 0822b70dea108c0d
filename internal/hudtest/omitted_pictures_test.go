package hudtest

import (
	"bytes"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"testing"

	"strata/internal/testclient"
	"strata/internal/upstream"
)

// promptWithPicture sends a prompt with a picture of 64 x 48 pixels.
func promptWithPicture(t *testing.T, e *testclient.Editor, sid string) {
	t.Helper()
	var data bytes.Buffer
	if err := png.Encode(&data, image.NewGray(image.Rect(0, 0, 64, 48))); err != nil {
		t.Fatal(err)
	}
	blocks := []any{
		map[string]any{"type": "text", "text": "Look at this."},
		map[string]any{"type": "image", "mimeType": "image/png", "data": base64.StdEncoding.EncodeToString(data.Bytes())},
	}
	if _, err := e.StartWith(sid, blocks, "").Wait(); err != nil {
		t.Fatal(err)
	}
}

func TestPictureForAModelWithoutVisionIsNamed(t *testing.T) {
	w := NewWorld(t, "models:\n  local/test: {window: 16000, max_output: 1000, vision: false}\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".transcript", "No messages yet")
	promptWithPicture(t, e, sid)
	const want = "Picture omitted: the model has no vision"
	p.WaitText(".row.user .head .mark", want)
	p.Wait(`document.querySelector(".row.user img.picture")`)
	p.WaitText(".below .omitted summary", "1 item omitted from the last request")
	p.Click(".below .omitted summary")
	p.WaitText(".below .omitted li", "picture omitted: the model has no vision")
	p.Tab(sid, "budget")
	p.WaitText(".group", want)
	p.Wait(`document.querySelectorAll("[data-omitted^='msg:']").length === 1`)
}

func TestRefusedPictureIsNamed(t *testing.T) {
	w := NewWorld(t, "models:\n  local/test: {window: 16000, max_output: 1000, vision: true}\n")
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	w.Model.Push(upstream.Script{Status: http.StatusBadRequest, Body: `{"error":{"type":"invalid_request_error","message":"Could not process image"}}`})
	promptWithPicture(t, e, sid)
	p := Open(t, w.Server)
	p.Session(sid)
	p.WaitText(".patched-label", "Picture omitted from requests")
	p.WaitText(".patched-text", "[picture: image/png, 64 x 48; not shown to this model]")
	p.Click(".patched-label .link")
	p.Wait(`document.querySelector(".row.user img.picture")`)
	p.Tab(sid, "history")
	p.WaitText(".timeline-row-title", "Pictures omitted")
	p.WaitText(".timeline-row", "1 picture omitted, picture omitted: the provider refused it")
	p.Tab(sid, "budget")
	p.WaitText(".group", "Picture omitted: the provider refused it")
}

func TestEstimatedUsageIsMarked(t *testing.T) {
	w := NewWorld(t)
	e := w.Editor(t)
	sid := e.NewSession(w.Home.Project)
	prompt(t, e, sid, "The provider reports usage.")
	w.Model.Push(upstream.Script{Steps: upstream.Texts("No usage."), NoUsage: true})
	prompt(t, e, sid, "The provider reports none.")
	p := Open(t, w.Server)
	p.Session(sid)
	p.Tab(sid, "cost")
	p.Equals(data("tr[data-call]", "estimated"), []string{"true", ""})
	figures := func(row string) string {
		return openedCalls + `.filter((r) => r.matches("` + row + `")).flatMap((r) => [...r.querySelectorAll(".number"), ...(r.nextElementSibling?.querySelectorAll("dd:has(.tokens), dd:has(span)") ?? [])])
			.map((c, i) => i === 5 ? "expected" : c.innerText.startsWith("~"))`
	}
	p.Equals(figures("[data-estimated]"), []any{true, true, true, true, true, "expected", true, true, true})
	p.Equals(figures(":not([data-estimated])"), []any{false, false, false, false, false, "expected", false, false, false})
	p.Equals(`[...document.querySelectorAll("tr[data-estimated] [title*='estimated: the provider reported no usage'], tr[data-estimated] + .call-details [title*='estimated: the provider reported no usage']")].length`, 8)
}
