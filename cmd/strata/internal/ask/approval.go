package ask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/keyboard"
	"strata/rpc"
	"strata/session/approval"
)

// approving is how calls that can change something are approved.
type approving struct {
	mode  approval.Mode // that the turn needs; empty: the session's own
	keeps bool          // the session keeps the mode after the turn
	asked askFunc       // nil: other clients are asked
	close func()
}

// askFunc answers session/request_permission.
type askFunc func(ctx context.Context, params json.RawMessage) (result any, err error)

// chooseApproval chooses how the calls of a turn are approved. Without a terminal and without --approval, nothing is
// changed. ctx is that of the command.
func chooseApproval(ctx context.Context, p *cli.Process, named approval.Mode, show *reply) approving {
	a := approving{mode: named, keeps: named != "", close: func() {}}
	if keys := openKeyboard(p, named); keys != nil {
		a.asked, a.close = newAsker(ctx, keys, show).asked, keys.Close
		return a
	}
	switch named {
	case "":
		a.mode = approval.ReadOnly
	case approval.Edits, approval.Auto:
		a.asked = func(_ context.Context, params json.RawMessage) (any, error) { return rejected(params, show) }
	}
	return a
}

// openKeyboard returns the keyboard at which the user can be asked, nil for none. Standard input that is no terminal is
// taken for a sign that nobody is there, unless the user named an approval.
func openKeyboard(p *cli.Process, named approval.Mode) *keyboard.Keyboard {
	if !cli.IsTerminal(p.Stderr) || named == "" && !cli.IsTerminal(p.Stdin) {
		return nil
	}
	keys, err := keyboard.Open(p.Stdin)
	if err != nil {
		return nil
	}
	return keys
}

// setApproval sets the session's approval. restore, which waits for the server, gives the session its own again if it does
// not keep the one of the turn. A problem of restore is a remark: the session is stricter than it was.
func setApproval(
	ctx context.Context, p *cli.Process, client *rpc.Client, session string, a approving,
) (restore func(), err error) {
	none := func() {}
	if a.mode == "" {
		return none, nil
	}
	info, err := sessionInfo(ctx, client, session)
	switch {
	case err != nil:
		return none, err
	case info.Config.Approval == a.mode, info.Config.Approval == "" && !a.keeps: // the server has no approvals
		return none, nil
	case info.Running != "":
		return none, errors.New("the session is busy: the approval would apply to the running turn; wait until it has ended")
	}
	if err := setMode(ctx, client, session, a.mode); err != nil {
		return none, fmt.Errorf("approval %s: %w", a.mode, err)
	}
	if a.keeps {
		return none, nil
	}
	return func() {
		if err := restoreApproval(ctx, client, session, a.mode, info.Config.Approval); err != nil {
			fmt.Fprintf(p.Stderr, "strata: %s\n", cli.OneLine(err.Error()))
		}
	}, nil
}

// codeNotFound is the code of a session that does not exist.
const codeNotFound = -32002

// restoreTime is the longest wait for the server after a turn.
const restoreTime = 5 * time.Second

// restoreApproval gives a session its own approval again, unless another client has changed it, or the turn still runs.
func restoreApproval(ctx context.Context, client *rpc.Client, session string, set, own approval.Mode) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreTime)
	defer cancel()
	info, err := sessionInfo(ctx, client, session)
	if err == nil && info.Config.Approval == set {
		if info.Running != "" {
			err = errors.New("the turn is still running")
		} else {
			err = setMode(ctx, client, session, own)
		}
	}
	if answer, ok := errors.AsType[*rpc.Error](err); ok && answer.Code == codeNotFound {
		return nil // the session was deleted
	}
	if err != nil {
		return fmt.Errorf("the session keeps the approval %s: %w", set, err)
	}
	return nil
}

func setMode(ctx context.Context, client *rpc.Client, session string, mode approval.Mode) error {
	params := map[string]any{"sessionId": session, "configId": "approval", "value": mode}
	return client.Call(ctx, "session/set_config_option", params, nil)
}

// rejected answers a question in the place of a user who cannot be asked.
func rejected(params json.RawMessage, show *reply) (any, error) {
	q, err := readQuestion(params)
	if err != nil {
		return nil, err
	}
	show.asks(q)
	a := q.rejection("strata ask has no terminal, so it cannot ask the user.")
	show.answered(q, a, "rejected: there is no terminal to ask on")
	return a.result(), nil
}

// lines is the user's keyboard.
type lines interface {
	Line(ctx context.Context, show func()) (string, error)
}

// asker asks the user at the terminal, one question after the other.
type asker struct {
	command context.Context // ends with the command
	keys    lines
	show    *reply
	free    chan struct{} // holds a token while no question is shown
}

func newAsker(command context.Context, keys lines, show *reply) *asker {
	a := &asker{command: command, keys: keys, show: show, free: make(chan struct{}, 1)}
	a.free <- struct{}{}
	return a
}

// asked is an askFunc.
func (a *asker) asked(ctx context.Context, params json.RawMessage) (any, error) {
	q, err := readQuestion(params)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.command, cancel)()
	select {
	case <-a.free:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { a.free <- struct{}{} }()
	a.show.asks(q)
	given, remark := a.ask(ctx, q)
	a.show.answered(q, given, remark)
	return given.result(), nil
}

// ask shows a question until it has an answer. The remark explains an answer that the user did not type.
func (a *asker) ask(ctx context.Context, q *question) (given answer, remark string) {
	text := q.text()
	for {
		typed, err := a.keys.Line(ctx, func() { a.show.question(text + q.prompt()) })
		switch {
		case a.command.Err() != nil:
			return answer{}, ""
		case ctx.Err() != nil:
			return answer{}, "no answer is needed any more: another client has answered, or the call has ended"
		case err != nil:
			return q.rejection(""), "rejected: the input has ended"
		}
		a.show.typed()
		if given, ok := q.answer(typed); ok {
			return given, ""
		}
		text = "Type one of the keys; words can follow only a rejection. "
	}
}
