package hud

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/pick"
	"strata/internal/clip"
	"strata/rpc"
)

// report is the result of _strata/context/report.
type report struct {
	Text string `json:"text"`
	Line string `json:"line"`
}

// changing are the events that change a report.
var changing = []string{"turn_started", "turn_finished", "context_changed", "files_changed", "tiers_changed", "config_changed", "compaction"}

// watch shows the report of a session: on a terminal, or with --follow, again after each change until ctx or the session
// ends; otherwise once. On a terminal, a new report replaces the previous report, and a report is as wide as the terminal.
func watch(ctx context.Context, p *cli.Process, opt options) error {
	changes := make(chan string, 1)
	client, err := connect.Open(ctx, p, func(method string, params json.RawMessage) { noteChange(changes, method, params) })
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := pick.Session(ctx, client, opt.session)
	if err != nil {
		return fmt.Errorf("--session: %w", err)
	}
	if !opt.follow && !cli.IsTerminal(p.Stdout) {
		return showReport(ctx, p, client, session, opt.line)
	}
	if err := client.Call(ctx, "_strata/session/attach", map[string]any{"sessionId": session}, nil); err != nil {
		return err
	}
	resized := make(chan os.Signal, 1)
	defer noteResizes(resized)()
	for {
		if err := showReport(ctx, p, client, session, opt.line); err != nil {
			return err
		}
		select {
		case <-resized:
		case kind := <-changes:
			if kind == "closed" {
				return nil
			}
		case <-client.Done():
			return errors.New("the server disconnected")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// noteChange records that the report has changed. The end of the session replaces any other change.
func noteChange(changes chan string, method string, params json.RawMessage) {
	var event struct {
		Type string `json:"type"`
	}
	if method != "_strata/event" || json.Unmarshal(params, &event) != nil {
		return
	}
	closed := event.Type == "closed"
	if !closed && !slices.Contains(changing, event.Type) {
		return
	}
	if closed {
		select {
		case <-changes:
		default:
		}
	}
	select {
	case changes <- event.Type:
	default:
	}
}

const (
	clearScreen = "\x1b[H\x1b[2J"
	clearLine   = "\r\x1b[2K"
)

func showReport(ctx context.Context, p *cli.Process, client *rpc.Client, session string, line bool) error {
	var r report
	columns := cli.Columns(p.Stdout)
	if err := client.Call(ctx, "_strata/context/report", map[string]any{"sessionId": session, "columns": columns}, &r); err != nil {
		return err
	}
	terminal := cli.IsTerminal(p.Stdout)
	var err error
	switch {
	case line && terminal:
		_, err = fmt.Fprint(p.Stdout, clearLine, fitting(cli.Printable(r.Line), columns))
	case line:
		_, err = fmt.Fprintln(p.Stdout, cli.Printable(r.Line))
	case terminal:
		_, err = fmt.Fprint(p.Stdout, clearScreen, cli.Printable(r.Text))
	default:
		_, err = fmt.Fprintln(p.Stdout, cli.Printable(r.Text))
	}
	return err
}

// fitting returns a line that a terminal with so many columns does not wrap, so that clearLine can remove it; 0: unknown.
func fitting(line string, columns int) string {
	if columns <= 1 {
		return line
	}
	return clip.Line(line, columns-1)
}
