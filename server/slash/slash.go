// Package slash runs the built-in slash commands on sessions, and returns their outcome as text for the user.
//
// It must never start a turn, and never send anything to a client.
package slash

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"strata/compaction"
	"strata/history"
	"strata/internal/await"
	"strata/internal/clip"
	"strata/internal/plural"
	"strata/session"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/commands"
	"strata/session/compacting"
	"strata/session/workspace"
)

// MaxOutput is the maximum size of a command's output, in bytes.
const MaxOutput = 32 << 10

// Runner runs commands on one session.
type Runner struct {
	Session  *session.Session
	Commands func(context.Context) commands.Set // of the session
	Models   []string                           // that the user can select
	Renamed  func(history.Session)              // called when the session has a new title
	Stop     context.Context                    // ends when the user cancels the command, but not with the connection
}

// Run runs a built-in command and returns its output, at most MaxOutput. An error that Shown recognizes is output; any other
// error of the session is returned. Run refuses commands.Retry: see LastPrompt.
func (r *Runner) Run(ctx context.Context, call commands.Call) (string, error) {
	run := r.named(call.Name)
	if run == nil {
		return "", fmt.Errorf("%w: /%s cannot be run here", session.ErrInvalid, clip.Name(call.Name))
	}
	text, err := run(ctx, call)
	if fault, ok := Shown(err); ok {
		text, err = fault, nil
	}
	if len(text) > MaxOutput {
		text = clip.Bytes(text, MaxOutput-len(omitted)) + omitted
	}
	return text, err
}

const omitted = "\n…\n"

func (r *Runner) named(name string) func(context.Context, commands.Call) (string, error) {
	return map[string]func(context.Context, commands.Call) (string, error){
		commands.Compact:    r.compact,
		commands.Undo:       r.undo,
		commands.Clear:      r.clear,
		commands.Context:    r.context,
		commands.Files:      r.files,
		commands.Add:        r.add,
		commands.Drop:       r.drop,
		commands.Checkpoint: r.checkpoint,
		commands.Restore:    r.restore,
		commands.Rename:     r.rename,
		commands.Model:      r.model,
		commands.Help:       r.help,
	}[name]
}

// Shown returns the text for the user of an error that is about the arguments of a command. ok is false for other errors and
// for nil.
func Shown(err error) (text string, ok bool) {
	missing, isMissing := errors.AsType[*session.MissingError](err)
	refused, isRefused := errors.AsType[*workspace.RefusedError](err)
	unknown, isUnknown := errors.AsType[*workspace.UnknownFileError](err)
	switch {
	case isMissing:
		return sentence(missing.Error()), true
	case isRefused: // it begins with the path
		return refused.Error() + ".", true
	case isUnknown:
		return unknown.Error() + ".", true
	case errors.Is(err, session.ErrInvalid):
		return sentence(strings.TrimPrefix(err.Error(), session.ErrInvalid.Error()+": ")), true
	}
	return "", false
}

// sentence returns a message of an error as a sentence.
func sentence(message string) string {
	return strings.ToUpper(message[:1]) + message[1:] + "."
}

// usage returns how a command is used.
func usage(name string) string { return "Usage: `" + commands.Usage(name) + "`" }

func (r *Runner) help(ctx context.Context, _ commands.Call) (string, error) {
	return r.Commands(ctx).Text(), nil
}

func (r *Runner) compact(ctx context.Context, call commands.Call) (string, error) {
	done, err := await.Reply(ctx, func(reply func(compacting.Result, error)) {
		stop := r.Session.Compact(compacting.Request{Strategy: call.Arguments}, reply)
		context.AfterFunc(r.Stop, stop)
	})
	if err != nil {
		return "", err
	}
	switch compaction.Result(done.Outcome) {
	case compaction.Compacted:
		return fmt.Sprintf("Compacted (%s): the history had %s and now has %d.", done.Strategy, plural.Of(done.Before, "token"), done.After), nil
	case compaction.NothingToDo:
		return "Nothing was compacted: the history is short enough.", nil
	case compaction.NoGain:
		return "Nothing was compacted: a compaction would save nothing.", nil
	}
	text := "The compaction was not applied: " + done.Outcome
	if done.Reason != "" {
		text += ", " + done.Reason
	}
	return text + ".", nil
}

func (r *Runner) clear(ctx context.Context, _ commands.Call) (string, error) {
	cleared, err := await.Reply(ctx, r.Session.Clear)
	switch {
	case err != nil:
		return "", err
	case cleared.After != "":
		return "The history will be cleared after the running turn.", nil
	}
	return "The working history is empty. The transcript is kept; `/undo edit` restores the history.", nil
}

func (r *Runner) context(ctx context.Context, _ commands.Call) (string, error) {
	budget, err := await.Reply(ctx, r.Session.Accounts().Budget)
	if err != nil {
		return "", err
	}
	parts, err := await.Reply(ctx, r.Session.Accounts().Breakdown)
	if err != nil {
		return "", err
	}
	return contextText(&budget, &parts), nil
}

// contextText describes the next request. All tokens are those of the provider: the categories add up to the use.
func contextText(budget *assembly.Budget, parts *assembly.Breakdown) string {
	var text strings.Builder
	fmt.Fprintf(&text, "The next request to %s uses %d of %s (%d %%); free: %d.\n\n",
		parts.Model, budget.Used, plural.Of(budget.MaxInputTokens, "token"), budget.PercentUsed, budget.Remaining)
	counted, used := 0, 0
	for _, c := range parts.Categories {
		counted += c.Tokens
		to := budget.Used * counted / max(parts.Used, 1)
		if c.Tokens > 0 {
			fmt.Fprintf(&text, "- %s: %d\n", c.Name, to-used)
		}
		used = to
	}
	if budget.Warning != "" {
		fmt.Fprintf(&text, "\nWarning: %s.\n", budget.Warning)
	}
	if len(parts.Omitted) > 0 {
		text.WriteString("\nOmitted:\n\n")
		for _, o := range parts.Omitted {
			fmt.Fprintf(&text, "- %s: %s\n", o.Key, o.Reason)
		}
	}
	return text.String()
}

func (r *Runner) model(ctx context.Context, call commands.Call) (string, error) {
	if call.Arguments == "" {
		info, err := await.Reply(ctx, r.Session.Info)
		if err != nil {
			return "", err
		}
		text := "The model is `" + info.Config.Model + "`. `/model NAME` selects one of these:\n\n"
		for _, name := range r.Models {
			text += "- `" + name + "`\n"
		}
		return text, nil
	}
	chosen, err := await.Reply(ctx, func(reply func(session.Configured, error)) {
		r.Session.Configure(choices.OptionModel, call.Arguments, nil, reply)
	})
	if err != nil {
		return "", err
	}
	return "The model is `" + chosen.Info.Config.Model + "`.", nil
}

func (r *Runner) rename(ctx context.Context, call commands.Call) (string, error) {
	if call.Arguments == "" {
		return usage(commands.Rename), nil
	}
	info, err := await.Reply(ctx, func(reply func(session.Info, error)) { r.Session.Rename(call.Arguments, reply) })
	if err != nil {
		return "", err
	}
	r.Renamed(info.Session)
	return "The title is “" + info.Session.Title + "”.", nil
}
