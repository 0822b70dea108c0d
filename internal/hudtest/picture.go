package hudtest

import (
	"context"

	"github.com/chromedp/cdproto/cdp"
	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// Picture returns a picture of the page as webp.
func (p *Page) Picture() []byte {
	p.t.Helper()
	var picture []byte
	p.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		quality := int64(shotQuality)
		result, err := cdp.Call(ctx, target, cdpage.CaptureScreenshot, cdpage.CaptureScreenshotParams{Format: cdpage.CaptureScreenshotFormatWebp, Quality: &quality})
		picture = result.Data
		return err
	}))
	return picture
}

// shotQuality is the quality of pictures, of 100.
const shotQuality = 55
