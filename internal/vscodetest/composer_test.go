package vscodetest

import (
	"fmt"
	"testing"

	"strata/internal/hudtest"
)

// pastePicture pastes a picture of one pixel into the prompt.
const pastePicture = `(() => {
	const bytes = Uint8Array.from(atob("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="), (c) => c.charCodeAt(0));
	const data = new DataTransfer();
	data.items.add(new File([bytes], "pixel.png", { type: "image/png" }));
	const box = document.querySelector("#prompt");
	box.focus();
	return box.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true })) || true;
})()`

// TestPromptIsStoppedEditedAndSentAgain: the parts of the HUD's prompt work in the view of the editor.
func TestPromptIsStoppedEditedAndSentAgain(t *testing.T) {
	e := open(t)
	e.start(t)
	c := e.newSession()

	c.prompt("say Begun.\nwait 60s\nsay Never.")
	c.waitText(".transcript", "Begun.")
	c.click("button[aria-label='Stop reply']")
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)

	c.prompt("fail 400")
	again := `[...document.querySelectorAll("button")].find((e) => e.innerText === "Send again" && !e.disabled && !e.dataset.clicked)`
	c.Wait(again)
	hudtest.EvalIn[bool](c.Frame, fmt.Sprintf(`((button) => { button.dataset.clicked = "1"; button.click(); return true; })(%s)`, again))
	c.Wait(again) // another one, of the second failure

	c.clickLast("button[aria-label='Edit prompt']")
	c.waitDraft("fail 400")
	c.Wait(`document.querySelector(".composer-note")`)
	hudtest.EvalIn[bool](c.Frame, `(document.querySelector("#prompt").focus(), document.execCommand("selectAll"), document.execCommand("delete"))`)
	hudtest.EvalIn[bool](c.Frame, pastePicture)
	c.Wait(`document.querySelector(".composer img.thumb")?.naturalWidth === 1`)
	c.prompt("say Instead.")
	c.waitText(".transcript", "Undone") // the prompt that was replaced
	c.Wait(`[...document.querySelectorAll(".transcript img")].some((e) => e.naturalWidth === 1)`)
	c.Wait(`!document.querySelector("button[aria-label='Stop reply']")`)

	c.prompt("/context")
	c.Wait(`document.querySelector(".command-output")?.innerText.trim()`)
}
