package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"strata/rpc"
)

const (
	maxPrompt   = 8 << 20                // bytes that are read from standard input
	cancelAgain = 200 * time.Millisecond // a cancel that overtakes its prompt hits nothing, so it is sent again
	cancelGrace = 10 * time.Second       // how long the ending of a cancelled turn is waited for
)

// askOptions are the flags of strata ask.
type askOptions struct {
	session string
	files   []string
	model   string
	json    bool
}

func newAsk(p *process) *cobra.Command {
	var opt askOptions
	cmd := &cobra.Command{
		Use:   "ask PROMPT",
		Short: "Ask the model and stream its answer; - reads the prompt from standard input",
		Args:  usageArgs(onePrompt),
		RunE: func(cmd *cobra.Command, args []string) error {
			prompt, err := p.prompt(args[0])
			if err != nil {
				return usageError{cmd, err}
			}
			return p.ask(cmd.Context(), prompt, opt)
		},
	}
	cmd.Flags().StringVar(&opt.session, "session", "", "go on with the session `ID` (default: a new one in this folder)")
	cmd.Flags().StringArrayVar(&opt.files, "file", nil, "add the file at `PATH`; can be given again")
	cmd.Flags().StringVar(&opt.model, "model", "", "answer with this `PROVIDER/MODEL`; the session keeps it")
	cmd.Flags().BoolVar(&opt.json, "json", false, "print one JSON object for each update, and one for the result")
	return cmd
}

func onePrompt(_ *cobra.Command, args []string) error {
	switch len(args) {
	case 0:
		return errors.New("the prompt is missing")
	case 1:
		return nil
	}
	return fmt.Errorf("one prompt is wanted, not %d: put it in quotes, and --file before each file", len(args))
}

// prompt gives the prompt's text.
func (p *process) prompt(arg string) (string, error) {
	text := arg
	if arg == "-" {
		data, err := io.ReadAll(io.LimitReader(p.stdin, maxPrompt+1))
		switch {
		case err != nil:
			return "", fmt.Errorf("read the prompt: %w", err)
		case len(data) > maxPrompt:
			return "", fmt.Errorf("the prompt is larger than %d bytes", maxPrompt)
		}
		text = string(data)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "", errors.New("the prompt is empty")
	case !utf8.ValidString(text):
		return "", errors.New("the prompt is not UTF-8 text")
	}
	return text, nil
}

// ask runs one turn and shows it.
func (p *process) ask(ctx context.Context, prompt string, opt askOptions) error {
	blocks, err := promptBlocks(prompt, opt.files)
	if err != nil {
		return err
	}
	show := newAnswer(p, opt.json)
	client, err := p.connect(ctx, show.notified)
	if err != nil {
		return err
	}
	defer client.Close()
	session, err := openSession(ctx, client, opt)
	if err != nil {
		return err
	}
	if err := attach(ctx, client, session); err != nil {
		return err
	}
	show.begin(session)
	result, err := runTurn(ctx, client, map[string]any{"sessionId": session, "prompt": blocks})
	if errors.Is(err, rpc.ErrClosed) {
		err = fmt.Errorf("the server left before the answer was complete; what it saved of it is shown by `strata sessions show %s`: %w", session, client.Err())
	}
	if err != nil {
		show.failed(err)
		return errors.Join(err, discardRefused(ctx, client, session, opt, err))
	}
	switch complete := show.end(result); {
	case ctx.Err() != nil:
		return exitError(exitInterrupted)
	case !complete:
		return exitError(exitFailed)
	}
	return nil
}

// promptBlocks gives the blocks of a prompt: a link for each file, then the text.
func promptBlocks(prompt string, files []string) ([]map[string]any, error) {
	blocks := make([]map[string]any, 0, len(files)+1)
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", file, err)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		blocks = append(blocks, map[string]any{"type": "resource_link", "name": filepath.Base(path), "uri": fileURI(path)})
	}
	return append(blocks, map[string]any{"type": "text", "text": prompt}), nil
}

// fileURI gives the file: address of an absolute path; C:\x is file:///C:/x.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// openSession opens the session that was asked for, or a new one in this folder, and chooses its model.
func openSession(ctx context.Context, client *rpc.Client, opt askOptions) (id string, err error) {
	if opt.session == "" {
		id, err = newSession(ctx, client)
	} else {
		id, err = opt.session, resumeSession(ctx, client, opt.session)
	}
	if err != nil || opt.model == "" {
		return id, err
	}
	err = client.Call(ctx, "session/set_config_option", map[string]any{"sessionId": id, "configId": "model", "value": opt.model}, nil)
	if err != nil {
		return id, errors.Join(fmt.Errorf("--model %s: %w", opt.model, err), discardRefused(ctx, client, id, opt, err))
	}
	return id, nil
}

// The codes of what the server refuses before it stores anything.
const (
	codeInvalidParams = -32602
	codeOverBudget    = -32011
)

// discardRefused deletes a session that was made for something that was refused: it is empty, and nobody asked for it.
func discardRefused(ctx context.Context, client *rpc.Client, id string, opt askOptions, refusal error) error {
	answer, ok := errors.AsType[*rpc.Error](refusal)
	if opt.session != "" || !ok || answer.Code != codeInvalidParams && answer.Code != codeOverBudget {
		return nil
	}
	return client.Call(ctx, "session/delete", map[string]any{"sessionId": id}, nil)
}

func newSession(ctx context.Context, client *rpc.Client) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working folder: %w", err)
	}
	var result struct {
		SessionID string `json:"sessionId"`
	}
	err = client.Call(ctx, "session/new", map[string]any{"cwd": folder, "mcpServers": []any{}}, &result)
	return result.SessionID, err
}

// resumeSession opens a stored session in the folder that it was made in, wherever we are.
func resumeSession(ctx context.Context, client *rpc.Client, id string) error {
	info, err := sessionInfo(ctx, client, id)
	if err != nil {
		return fmt.Errorf("--session %s: %w", id, err)
	}
	err = client.Call(ctx, "session/resume", map[string]any{"sessionId": id, "cwd": info.Session.CWD, "mcpServers": []any{}}, nil)
	if err != nil {
		return fmt.Errorf("--session %s: %w", id, err)
	}
	return nil
}

// attach asks for the session's events from now on: they tell what was left out of a request, and of retries.
func attach(ctx context.Context, client *rpc.Client, id string) error {
	info, err := sessionInfo(ctx, client, id)
	if err != nil {
		return err
	}
	return client.Call(ctx, "_strata/session/attach", map[string]any{"sessionId": id, "epoch": info.Epoch, "after": info.Seq}, nil)
}

// runTurn sends a prompt and waits for its result. When ctx ends the turn is cancelled, and its ending awaited.
func runTurn(ctx context.Context, client *rpc.Client, params map[string]any) (json.RawMessage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	call, giveUp := context.WithCancel(context.WithoutCancel(ctx))
	defer giveUp()
	cancelling := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(cancelling)
		cancelTurn(call, client, params["sessionId"])
		giveUp()
	})
	var result json.RawMessage
	err := client.Call(call, "session/prompt", params, &result)
	giveUp()
	if !stop() {
		<-cancelling
	}
	if err != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return result, err
}

// cancelTurn cancels the session's turn until call ends, for at most cancelGrace.
func cancelTurn(call context.Context, client *rpc.Client, session any) {
	again := time.NewTicker(cancelAgain)
	defer again.Stop()
	patience := time.NewTimer(cancelGrace)
	defer patience.Stop()
	for {
		if err := client.Notify(call, "session/cancel", map[string]any{"sessionId": session}); err != nil {
			return
		}
		select {
		case <-again.C:
		case <-patience.C:
			return
		case <-call.Done():
			return
		}
	}
}
