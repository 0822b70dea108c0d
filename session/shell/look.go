package shell

import (
	"context"
	"strings"
	"time"

	"strata/session/clients"
	"strata/session/tools"
)

// look shows the output of the command to clients that do not have the terminal, until ctx ends or the command has ended.
func (t *terminal) look(ctx context.Context) {
	var screen screen
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		out, err := t.ask(ctx)
		if err != nil {
			return
		}
		if newest, changed := screen.next(out); changed {
			newest.Terminal = t.shown()
			t.show(newest)
		}
		if out.Exit != nil {
			return
		}
	}
}

// screen is the output of a terminal from one look to the next.
type screen struct {
	tail string // shown last
	end  int64
}

// next returns the output to be shown, and whether it has changed. The end of a truncated output follows from where it has what
// was shown last.
func (s *screen) next(out clients.TerminalOutput) (tools.Output, bool) {
	var plain plain
	var live live
	text := string(live.lines(plain.append(nil, []byte(out.Text))))
	end := int64(len(text))
	if out.Truncated {
		end += s.end
		if at := strings.LastIndex(text, s.tail); at >= 0 && s.tail != "" {
			end = s.end + int64(len(text)-at-len(s.tail))
		}
	}
	newest := endOf(text)
	changed := newest != s.tail || end > s.end
	s.tail, s.end = newest, max(end, s.end)
	return tools.Output{Text: newest, End: s.end}, changed
}

// endOf returns the newest lines of a text.
func endOf(text string) string {
	var newest live
	newest.put([]byte(text))
	return newest.tail()
}
