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
	for _, scheme := range []string{"light", "dark"} {
		t.Run(scheme, func(t *testing.T) { shootQuestion(t, scheme) })
	}
}

// shootQuestion writes pictures of a page that asks about an edit.
func shootQuestion(t *testing.T, scheme string) {
	e := open(t)
	e.setScheme(scheme)
	e.Run(chromedp.Reload())
	e.connect(e.server.Token)
	e.waitConnected()
	e.show("money.js")
	e.Click("#editor .cm-content")
	e.Type(kb.Home, chromedp.KeyModifiers(chromedp.ModifierCtrl))
	e.Type(kb.ArrowDown)
	e.Type(kb.ArrowDown+kb.End, chromedp.KeyModifiers(chromedp.ModifierShift))
	e.ask(append([]string{`call read_file {"path": "money.js"}`, "---"}, editMoney...)...)
	e.WaitText("#questions .cm-changedLine", after)
	hudtest.Eval[string](e.Page, `document.querySelector("#log .user").firstChild.nodeValue = "Show two digits of the cents."`)
	e.shoot("picture-"+scheme, 1200, 720)
	e.AllowAll() // the server ends first
}

// setScheme sets the user's preferred color scheme.
func (e *example) setScheme(scheme string) {
	e.t.Helper()
	e.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		return err
	}))
}

// shoot writes a picture of the page.
func (e *example) shoot(name string, width, height int64) {
	e.t.Helper()
	e.Run(chromedp.EmulateViewport(width, height, chromedp.EmulateScale(2)), chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		quality := int64(70)
		result, err := cdp.Call(ctx, target, page.CaptureScreenshot, page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormatWebp, Quality: &quality})
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(*screenshots, name+".webp"), result.Data, 0o644)
	}))
}
