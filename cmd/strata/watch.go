package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"strata/rpc"
)

// sessionReport is what _strata/context/report says.
type sessionReport struct {
	Text string `json:"text"`
	Line string `json:"line"`
}

// changing are the events after which a report says something else.
var changing = []string{"turn_started", "turn_finished", "context_changed", "files_changed", "tiers_changed", "config_changed", "compaction"}

// watch shows the report of a session, anew whenever it changes, until ctx or the session ends. On a
// terminal the new one takes the place of the old.
func (p *process) watch(ctx context.Context, session string, line bool) error {
	changes := make(chan string, 1)
	client, err := p.connect(ctx, func(method string, params json.RawMessage) { noteChange(changes, method, params) })
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Call(ctx, "_strata/session/attach", map[string]any{"sessionId": session}, nil); err != nil {
		return err
	}
	for {
		if err := p.showReport(ctx, client, session, line); err != nil {
			return err
		}
		select {
		case kind := <-changes:
			if kind == "closed" {
				return nil
			}
		case <-client.Done():
			return errors.New("the connection to the server has ended")
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// noteChange remembers that there is something new to show; the end of the session goes before anything else.
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

func (p *process) showReport(ctx context.Context, client *rpc.Client, session string, line bool) error {
	var report sessionReport
	if err := client.Call(ctx, "_strata/context/report", map[string]any{"sessionId": session}, &report); err != nil {
		return err
	}
	terminal := isTerminal(p.stdout)
	var err error
	switch {
	case line && terminal:
		_, err = fmt.Fprint(p.stdout, clearLine, printable(report.Line))
	case line:
		_, err = fmt.Fprintln(p.stdout, printable(report.Line))
	case terminal:
		_, err = fmt.Fprint(p.stdout, clearScreen, printable(report.Text))
	default:
		_, err = fmt.Fprintln(p.stdout, printable(report.Text))
	}
	return err
}
