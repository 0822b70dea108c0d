package example_test

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"strata/internal/hudtest"
)

// screenshots is the output folder of `make screenshots`.
var screenshots = flag.String("screenshots", "", "folder that TestScreenshots writes the pictures of README.md to")

func TestScreenshots(t *testing.T) {
	if *screenshots == "" {
		t.Skip("`make screenshots` runs it")
	}
	e := open(t)
	e.connect(e.server.Token)
	e.waitConnected()
	e.show("money.js")
	e.Click("#editor .cm-content")
	e.Type(kb.Home, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.Type(kb.ArrowDown)
	e.Type(kb.ArrowDown+kb.End, chromedp.KeyModifiers(chromedp.ModifierShift))
	e.ask(append([]string{`call read_file {"path": "money.js"}`, "---"}, editMoney...)...)
	e.WaitText("#questions .cm-changedLine", after)
	e.typedPrompt("Show two digits of the cents.")
	for _, scheme := range []string{"light", "dark"} {
		e.shoot(scheme, "picture", 1200, 720)
		e.shoot(scheme, "narrow", 390, 844)
	}
}

// typedPrompt replaces the words of the actor's language in the picture by those of a user.
func (e *example) typedPrompt(text string) {
	hudtest.Eval[string](e.Page, `document.querySelector("#log .user").firstChild.nodeValue = `+quoted(text))
}

// shoot writes a picture of the page.
func (e *example) shoot(scheme, name string, width, height int64) {
	e.t.Helper()
	e.Run(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(2)), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
			{Name: "prefers-color-scheme", Value: scheme},
		}})
		return err
	}), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		quality := int64(70)
		result, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*screenshots, name+"-"+scheme+".webp"), result.Data, 0o644)
	}))
}
