package servers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"strata/history"
	"strata/internal/clip"
	"strata/session/content"
	"strata/session/tools"
)

// runner returns the Run of a server's tool, whose name for the model is shown. At the time of a call, the session may have
// another server of that name. If this one is trusted, the other must be, too, because the call needed no approval.
func (s *Servers) runner(server *tools.Server, tool, shown string) func(context.Context, tools.Input) (tools.Result, error) {
	return func(ctx context.Context, in tools.Input) (tools.Result, error) {
		var used Server
		s.mailbox.Wait(func() {
			if u := s.find(server.Name); u != nil && (u.definition.Trusted || !server.Trusted) {
				used = u.server
			}
		})
		if used == nil {
			return tools.Failed("%s was not run: it is no longer available. Do without it.", shown), nil
		}
		if state := used.State(); state.Status == Failed {
			used.Wake()
			reason, _, _ := strings.Cut(state.Error, "\n")
			return tools.Failed("%s is not running: %s. Do without it, or try again later.", clip.Name(server.Name), clip.Line(reason, maxError)), nil
		}
		reports := newReports(in.Show)
		defer reports.stop()
		r, err := used.Call(ctx, tool, in.Args, reports.add)
		if ctx.Err() != nil {
			return tools.Result{}, ctx.Err()
		}
		if err == nil {
			r.Content, err = content.Output(withoutDamage(r.Content))
		}
		if err != nil {
			return tools.Failed("%s failed: %v", shown, err), nil
		}
		return tools.Result{Content: r.Content, IsError: r.IsError}, nil
	}
}

// withoutDamage returns the blocks of a result with a text for each image that cannot be used: what the call did and the other
// blocks count.
func withoutDamage(blocks []history.Block) []history.Block {
	blocks = slices.Clone(blocks)
	for i := range blocks {
		if blocks[i].Type != history.BlockImage {
			continue
		}
		if _, err := content.Identified(&blocks[i]); err != nil {
			blocks[i] = history.Block{Type: history.BlockText, Text: fmt.Sprintf("[image omitted: %v]", err)}
		}
	}
	return blocks
}

// showEvery is the time between two outputs of a call.
const showEvery = 250 * time.Millisecond

// reports shows the progress reports of a call, one per line.
type reports struct {
	show func(tools.Output)

	mu    sync.Mutex
	text  string // the newest lines
	end   int64
	timer *time.Timer // runs after text was shown; nil: it does not run
	later bool        // text was not shown yet
	over  bool
}

func newReports(show func(tools.Output)) *reports { return &reports{show: show} }

// add takes a report.
func (r *reports) add(text string) {
	if text == "" {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	line := clip.Bytes(strings.ToValidUTF8(text, "\uFFFD"), tools.MaxShownOutput-1) + "\n"
	r.end += int64(len(line))
	r.text = newest(r.text+line, tools.MaxShownOutput)
	if r.later = r.timer != nil; !r.later {
		r.shown()
	}
}

// shown shows the newest lines, and the next ones not before showEvery. r.mu is held.
func (r *reports) shown() {
	if r.over || r.show == nil {
		return
	}
	r.show(tools.Output{Text: r.text, End: r.end})
	r.timer = time.AfterFunc(showEvery, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.timer = nil
		if r.later {
			r.later = false
			r.shown()
		}
	})
}

// stop ends the reports: the call has its result.
func (r *reports) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	if r.timer != nil {
		r.timer.Stop()
	}
}

// newest returns the end of lines, at most n bytes, from the start of a line.
func newest(lines string, n int) string {
	for len(lines) > n {
		_, lines, _ = strings.Cut(lines, "\n")
	}
	return lines
}
