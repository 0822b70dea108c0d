package hudtest

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// Frame is a document inside a page, possibly of another site. Its scripts see the document, but not the variables of the
// document's own scripts. If the document is loaded again, Wait finds the new one.
type Frame struct {
	page    *Page
	address string // part of the address of the document
	has     string // an expression that is true in the document
	world   runtime.ExecutionContextID
}

// Frame waits for a frame whose address contains a text and in which a JavaScript expression is true.
func (p *Page) Frame(address, expression string) *Frame {
	p.t.Helper()
	f := &Frame{page: p, address: address, has: expression}
	f.Wait("true")
	return f
}

// Wait waits until a JavaScript expression is true in the frame.
func (f *Frame) Wait(expression string) {
	f.page.t.Helper()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	deadline := time.After(patience)
	for !f.find() || !f.holds(f.world, expression) {
		select {
		case <-ticker.C:
		case <-deadline:
			f.page.t.Fatalf("no frame of %s with %s ever reached %s\nthe frames show:\n%s\nthe page shows:\n%s",
				f.address, f.has, expression, strings.Join(f.texts(), "\n---\n"), f.page.Text("body"))
		}
	}
}

// EvalIn evaluates a JavaScript expression, which may be a promise, in a frame.
func EvalIn[T any](f *Frame, expression string) T {
	f.page.t.Helper()
	ctx, cancel := context.WithTimeout(f.page.ctx, patience)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, in(f.world), chromedp.EvalAwaitPromise))
	if err != nil {
		f.page.t.Fatalf("%s: %v", expression, err)
	}
	return value
}

// in evaluates in a world.
func in(world runtime.ExecutionContextID) chromedp.EvaluateOption {
	return func(p *runtime.EvaluateParams) { p.ContextID = world }
}

// find reports whether the document is there, and sets its world.
func (f *Frame) find() bool {
	if f.world != 0 && f.holds(f.world, f.has) {
		return true
	}
	for _, world := range f.worlds() {
		if f.holds(world, f.has) {
			f.world = world
			return true
		}
	}
	return false
}

func (f *Frame) holds(world runtime.ExecutionContextID, expression string) bool {
	is, err := chromedp.Run(f.page.ctx, chromedp.Evaluate[bool]("!!("+expression+")", in(world)))
	return err == nil && is
}

// worlds returns a world for each frame with the address.
func (f *Frame) worlds() []runtime.ExecutionContextID {
	var worlds []runtime.ExecutionContextID
	f.page.Run(chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		tree, err := cdp.Call(ctx, target, page.GetFrameTree, cdp.Empty{})
		if err != nil {
			return err
		}
		for _, frame := range below(tree.FrameTree) {
			if !strings.Contains(frame.URL, f.address) {
				continue
			}
			made, err := cdp.Call(ctx, target, page.CreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: frame.ID, WorldName: "test"})
			if err == nil { // else the frame has been left meanwhile
				worlds = append(worlds, made.ExecutionContextID)
			}
		}
		return nil
	}))
	return worlds
}

// below returns all frames of a tree.
func below(tree *page.FrameTree) []*cdp.Frame {
	frames := []*cdp.Frame{tree.Frame}
	for _, child := range tree.ChildFrames {
		frames = append(frames, below(child)...)
	}
	return frames
}

// texts returns the texts of all frames with the address.
func (f *Frame) texts() []string {
	var texts []string
	for _, world := range f.worlds() {
		text, err := chromedp.Run(f.page.ctx, chromedp.Evaluate[string]("location.href + '\\n' + document.body?.innerText", in(world)))
		texts = append(texts, fmt.Sprint(text, err))
	}
	return texts
}
