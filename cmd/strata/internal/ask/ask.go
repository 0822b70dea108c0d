// Package ask is `strata ask`: it sends one prompt to the running server and shows the reply.
//
// It must never let the words of a model or a provider control the terminal.
package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/connect"
	"strata/cmd/strata/internal/pick"
	"strata/cmd/strata/internal/serve"
	"strata/rpc"
	"strata/session/approval"
)

const (
	maxPrompt   = 8 << 20                // bytes of standard input
	cancelAgain = 200 * time.Millisecond // a cancel that overtakes its prompt has no effect, so it is repeated
	cancelGrace = 10 * time.Second       // longest wait for the result of a cancelled turn
)

// options are the flags of strata ask.
type options struct {
	session string
	newest  bool // continue the newest session of this folder
	files   []string
	allow   bool // files that look like secrets
	model   string
	mode    string // of --approval; empty for none
	json    bool
}

// isNew reports whether the prompt is the first one of a new session.
func (o *options) isNew() bool { return o.session == "" && !o.newest }

// Command returns `strata ask`.
func Command(p *cli.Process) *cobra.Command {
	var opt options
	cmd := &cobra.Command{
		Use:   "ask [PROMPT]",
		Short: "Send a prompt and stream the reply",
		Long: "Send a prompt and stream the reply.\n\n" +
			"Standard input that is not a terminal is appended to PROMPT; without PROMPT, or with -, it is the prompt.\n" +
			"In a loop that reads standard input, write </dev/null after the command.\n\n" +
			"If a file of --file cannot be sent, nothing is sent. PROMPT can be a slash command: strata ask /help lists them.\n\n" +
			"The session's approval selects the calls that run without asking. A new session asks before each change. strata ask\n" +
			"shows the diff and reads the answer from the terminal: y allows the call, a allows the tool in this session,\n" +
			"n rejects the call; the words after n are a message to the model.\n\n" +
			"If standard input or standard error is not a terminal, the turn is read-only; after the turn, the session's own\n" +
			"approval applies again. --approval overrides both, and the session keeps it. If strata ask then has no terminal,\n" +
			"edits and auto reject calls that need an approval; ask waits for the answer of another client.",
		Example: "  strata ask \"What does this package do?\" --file main.go\n" +
			"  git diff | strata ask \"Review this\"\n" +
			"  strata ask --continue \"And its tests?\"",
		Args: cli.UsageArgs(onePrompt),
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.mode != "" && !approval.Mode(opt.mode).Valid() {
				return cli.UsageError{Command: cmd, Err: fmt.Errorf("--approval %s: expected one of %s", opt.mode, strings.Join(modes(), ", "))}
			}
			prompt, err := readPrompt(cmd, p, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return ask(cmd.Context(), p, prompt, opt)
		},
	}
	cmd.Flags().StringVar(&opt.session, "session", "", "continue the session `ID`, or the session whose ID begins with it (default: a new session in this folder)")
	cmd.Flags().BoolVarP(&opt.newest, "continue", "c", false, "continue the session of this folder that was used last")
	cmd.Flags().StringArrayVar(&opt.files, "file", nil, "add the file at `PATH`; repeatable")
	cmd.Flags().BoolVar(&opt.allow, "allow-secrets", false, "add files even if they look like secrets")
	cmd.Flags().StringVarP(&opt.model, "model", "m", "", "select `PROVIDER/MODEL`; the session keeps it")
	cmd.Flags().StringVar(&opt.mode, "approval", "", "let the model act without asking as `MODE` allows (read-only, ask, edits or auto); the session keeps it")
	cmd.Flags().BoolVar(&opt.json, "json", false, "print one JSON object per update, question and answer, and one for the result")
	cmd.MarkFlagsMutuallyExclusive("session", "continue")
	cli.CompleteFlag(cmd, "session", pick.Complete(p, math.MaxInt))
	cli.CompleteFlag(cmd, "file", cli.AnyFile)
	cli.CompleteFlag(cmd, "approval", cli.Words(modes()...))
	cli.CompleteFlag(cmd, "model", serve.CompleteModels(p))
	return cmd
}

// modes are the values of --approval.
func modes() (names []string) {
	for _, mode := range approval.Modes() {
		names = append(names, string(mode))
	}
	return names
}

func onePrompt(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return fmt.Errorf("expected one prompt, got %d: quote the prompt, and write --file before each file", len(args))
	}
	return nil
}

// readPrompt returns the text of the prompt: the argument, and standard input unless that is a terminal.
func readPrompt(cmd *cobra.Command, p *cli.Process, arg string) (string, error) {
	wanted := arg == "-"
	if wanted {
		arg = ""
	}
	text := arg
	if wanted || !cli.IsTerminal(p.Stdin) {
		input, err := p.ReadInput(cmd.Context(), maxPrompt)
		switch {
		case err != nil:
			return "", err
		case !utf8.Valid(input) || bytes.IndexByte(input, 0) >= 0:
			return "", errors.New("standard input is not UTF-8 text")
		}
		text = joined(arg, string(input))
		wanted = wanted || len(input) > 0
	}
	switch {
	case arg == "" && !wanted:
		return "", cli.UsageError{Command: cmd, Err: errors.New("the prompt is missing")}
	case strings.TrimSpace(text) == "":
		return "", cli.UsageError{Command: cmd, Err: errors.New("the prompt is empty")}
	case !utf8.ValidString(text):
		return "", cli.UsageError{Command: cmd, Err: errors.New("the prompt is not UTF-8 text")}
	}
	return text, nil
}

// joined returns a prompt followed by the text that it is about; either may be blank.
func joined(prompt, input string) string {
	switch {
	case strings.TrimSpace(input) == "":
		return prompt
	case strings.TrimSpace(prompt) == "":
		return input
	}
	return strings.TrimRight(prompt, "\n") + "\n\n" + input
}

// ask runs one turn and shows the reply.
func ask(ctx context.Context, p *cli.Process, prompt string, opt options) error {
	blocks, err := promptBlocks(prompt, opt)
	if err != nil {
		return err
	}
	show := newReply(p, opt.json)
	approves := chooseApproval(ctx, p, approval.Mode(opt.mode), show)
	defer approves.close()
	var agent json.RawMessage
	client, err := connect.OpenWith(ctx, p, connect.Handlers{
		Notified: show.notified, Asked: approves.asked, Initialized: func(result json.RawMessage) { agent = result },
	})
	if err != nil {
		return err
	}
	defer client.Close()
	handOver(ctx, p, client, agent)
	session, err := openSession(ctx, client, opt)
	if err != nil {
		return err
	}
	restore, err := setApproval(ctx, p, client, session, approves)
	if err != nil {
		return errors.Join(err, discardRefused(ctx, client, session, opt, err))
	}
	defer restore()
	if err := attach(ctx, client, session); err != nil {
		return err
	}
	show.begin(session)
	result, err := runTurn(ctx, client, map[string]any{"sessionId": session, "prompt": blocks})
	if errors.Is(err, rpc.ErrClosed) {
		err = fmt.Errorf("the server disconnected before the reply was complete; `strata sessions show %s` prints the saved part: %w", session, client.Err())
	}
	if err != nil {
		show.failed(err)
		return errors.Join(aboutFile(err), discardRefused(ctx, client, session, opt, err))
	}
	switch complete := show.end(result); {
	case ctx.Err() != nil:
		return cli.Interrupted
	case !complete:
		return cli.Failed
	}
	if err := cli.WriteError(p.Stdout); err != nil {
		return fmt.Errorf("%w; `strata sessions show %s` prints the reply", err, session)
	}
	return nil
}

// handOver gives the server the keys of this environment that it lacks, and the environment for programs that run on the
// user's behalf. Without them, the model may still reply.
func handOver(ctx context.Context, p *cli.Process, client *rpc.Client, agent json.RawMessage) {
	call := func(method string, params, result any) error { return client.Call(ctx, method, params, result) }
	warn := func(subject string, err error) {
		if err != nil && ctx.Err() == nil {
			fmt.Fprintf(p.Stderr, "strata: %s: %s\n", subject, cli.Printable(err.Error()))
		}
	}
	handed, err := connect.OfferKeys(call, p.Getenv)
	warn("keys", err)
	warn("environment", connect.OfferEnvironment(call, p, agent, handed.KeyEnv))
}

// promptBlocks returns the blocks of a prompt: a link for each file, then the text.
func promptBlocks(prompt string, opt options) ([]map[string]any, error) {
	blocks := make([]map[string]any, 0, len(opt.files)+1)
	for _, file := range opt.files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, fmt.Errorf("--file %s: %w", file, err)
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("--file: %w", err)
		}
		blocks = append(blocks, map[string]any{
			"type": "resource_link", "name": filepath.Base(path), "uri": fileURI(path),
			"_meta": map[string]any{"strata": map[string]any{"allow": opt.allow, "required": true}},
		})
	}
	return append(blocks, map[string]any{"type": "text", "text": prompt}), nil
}

// fileURI returns the file: address of an absolute path; C:\x is file:///C:/x.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// openSession opens the session of --session or --continue, or a new session in this folder, and selects its model.
func openSession(ctx context.Context, client *rpc.Client, opt options) (id string, err error) {
	if opt.isNew() {
		id, err = newSession(ctx, client)
	} else {
		id, err = resumeSession(ctx, client, opt)
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

// The codes of prompts that the server refuses before it stores anything.
const (
	codeInvalidParams = -32602
	codeOverBudget    = -32011
	codeRefusedPath   = -32013
)

// refusals are those codes.
var refusals = []int{codeInvalidParams, codeOverBudget, codeRefusedPath}

// discardRefused deletes a session that was created for a refused prompt: it is empty, and the user did not ask for it.
func discardRefused(ctx context.Context, client *rpc.Client, id string, opt options, refusal error) error {
	answer, ok := errors.AsType[*rpc.Error](refusal)
	refused := errors.Is(refusal, rpc.ErrTooLarge) || ok && slices.Contains(refusals, answer.Code)
	if !opt.isNew() || !refused {
		return nil
	}
	return client.Call(ctx, "session/delete", map[string]any{"sessionId": id}, nil)
}

// aboutFile returns the error of a prompt with the flag that it is about.
func aboutFile(err error) error {
	if answer, ok := errors.AsType[*rpc.Error](err); ok && answer.Code == codeRefusedPath {
		return fmt.Errorf("--file: %w", err)
	}
	return err
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

// resumeSession opens the stored session of --session or --continue in its own folder, whatever the working folder is.
func resumeSession(ctx context.Context, client *rpc.Client, opt options) (string, error) {
	id, flag, err := "", "--session "+opt.session, error(nil)
	if opt.newest {
		flag = "--continue"
		id, err = newestSession(ctx, client)
	} else {
		id, err = pick.Session(ctx, client, opt.session)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	info, err := sessionInfo(ctx, client, id)
	if err == nil {
		err = client.Call(ctx, "session/resume", map[string]any{"sessionId": id, "cwd": info.Session.CWD, "mcpServers": []any{}}, nil)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", flag, err)
	}
	return id, nil
}

// newestSession returns the ID of the session of this folder that was used last.
func newestSession(ctx context.Context, client *rpc.Client) (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working folder: %w", err)
	}
	newest, err := pick.Newest(ctx, client, folder)
	return newest.ID, err
}

// info is the part of _strata/session/info that this package needs.
type info struct {
	Session struct {
		CWD string `json:"cwd"`
	} `json:"session"`
	Running string `json:"running"` // ID of the turn; empty for none
	Config  struct {
		Approval approval.Mode `json:"approval"`
	} `json:"config"`
	Epoch string `json:"epoch"`
	Seq   uint64 `json:"seq"`
}

func sessionInfo(ctx context.Context, client *rpc.Client, id string) (info, error) {
	var i info
	err := client.Call(ctx, "_strata/session/info", map[string]any{"sessionId": id}, &i)
	return i, err
}

// attach subscribes to the session's events from now on, which report omitted items and retries.
func attach(ctx context.Context, client *rpc.Client, id string) error {
	info, err := sessionInfo(ctx, client, id)
	if err != nil {
		return err
	}
	return client.Call(ctx, "_strata/session/attach", map[string]any{"sessionId": id, "epoch": info.Epoch, "after": info.Seq}, nil)
}

// runTurn sends a prompt and returns its result. If ctx ends, runTurn cancels the turn and waits for its result.
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
	limit := time.NewTimer(cancelGrace)
	defer limit.Stop()
	for {
		if err := client.Notify(call, "session/cancel", map[string]any{"sessionId": session}); err != nil {
			return
		}
		select {
		case <-again.C:
		case <-limit.C:
			return
		case <-call.Done():
			return
		}
	}
}
