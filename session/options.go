package session

import (
	"context"
	"fmt"

	"strata/history"
	"strata/internal/clip"
	"strata/session/accounts"
	"strata/session/choices"
	"strata/session/content"
	"strata/session/events"
	"strata/session/mailbox"
	"strata/session/workspace"
)

// options change a session's record: its choices, its title and its folders. They belong to the mailbox.
type options struct {
	*core
	turns    *turns
	accounts *accounts.Accounts
}

// Configured is the response to a change of an option.
type Configured struct {
	Info  Info
	After string // id of the running turn after which it takes effect; empty for immediately
}

// told are the subscribers that need not receive a change, since the response tells them.
type told struct{ options, mode *events.Cursor }

// Configure chooses a value for an option. It is stored with the session and takes effect with the next turn, the approval at once. author learns
// the options from the response, and receives an event for a change of mode that comes with it.
func (o *options) Configure(option, value string, author *events.Cursor, reply func(Configured, error)) {
	o.configure(func() string { return option }, value, told{options: author}, reply)
}

// SetMode chooses a phase of the profile, or the approval if there are none, as Configure does. author, who chose it, receives the options as an event.
func (o *options) SetMode(mode string, author *events.Cursor, reply func(Configured, error)) {
	o.configure(o.choices.ModeOption, mode, told{mode: author}, reply)
}

func (o *options) configure(of func() string, value string, told told, reply func(Configured, error)) {
	mailbox.Change(o.mailbox, reply, func() (work, error) {
		option := of()
		update, err := o.choices.With(option, value)
		if err != nil {
			return nil, err
		}
		return o.update(update, func() { o.configured(option, told, reply) }), nil
	})
}

// update returns the work that stores a changed record; then runs on the mailbox once it is stored.
func (o *options) update(record history.Session, then func()) work {
	record.UpdatedAt = o.deps.Now()
	return o.store("update session "+o.id, history.Change{Update: &record}, func() {
		o.choices.Record = record
		then()
	})
}

func (o *options) configured(option string, told told, reply func(Configured, error)) {
	mode := o.choices.Mode()
	o.choices.Renew()
	configured := Configured{Info: o.info()}
	if o.turns.running != nil && !choices.TakesEffectAtOnce(option) {
		configured.After = o.turns.running.record.ID
	}
	if option == choices.OptionApproval {
		o.turns.asking.Reconsider()
	}
	o.emit(events.Event{Kind: events.Options, Data: configured.Info, Origin: told.options.Identity()})
	if now := o.choices.Mode(); now != mode {
		o.emit(events.Event{Kind: events.Mode, Text: now, Origin: told.mode.Identity()})
	}
	o.emit(events.Event{Kind: events.ConfigChanged, Data: events.ConfigInfo{Config: o.choices.Config()}})
	o.accounts.TellUsage()
	reply(configured, nil)
}

// SetFolders replaces the session's folder and its further roots, which must have been checked.
func (o *options) SetFolders(cwd string, roots []string, reply func(Info, error)) {
	mailbox.Change(o.mailbox, reply, func() (work, error) {
		services, moves := o.deps.choices(), o.choices.Record.CWD != cwd
		return func(ctx context.Context) (step, error) {
			opened := workspace.OpenFolders(ctx, cwd, roots, o.deps.Files, o.deps.Host.Allowed)
			var read choices.FolderRules
			if moves {
				read = services.RulesOf(ctx, cwd)
			}
			return func() (work, error) {
				update := o.choices.Record
				update.CWD, update.Roots = cwd, roots
				return o.update(update, func() {
					if moves {
						o.choices.Use(read)
						o.emit(events.Event{Kind: events.Options, Data: o.info()})
					}
					o.useFolders(opened)
					reply(o.info(), nil)
				}), nil
			}, nil
		}, nil
	})
}

// useFolders makes opened folders those of the session.
func (c *core) useFolders(opened workspace.Folders) {
	c.workspace.Use(opened, c.deps.Outlines)
	if c.choices.Profile.Budget.ShowsWorkspace() {
		c.workspace.Outlines().Open()
	}
	c.choices.FolderNotice = ""
	if c.workspace.Roots() == nil {
		c.choices.FolderNotice = "Cannot open the session folder " + clip.Name(c.choices.Record.CWD) + "; files are unavailable. If the folder has moved, open the session with the new one."
	}
}

// Rename gives the session a title, which no rule replaces any more.
func (o *options) Rename(title string, reply func(Info, error)) {
	mailbox.Change(o.mailbox, reply, func() (work, error) {
		update := o.choices.Record
		update.Title, update.TitleByUser = content.TidyTitle(title, content.MaxTitle), true
		if update.Title == "" {
			return nil, fmt.Errorf("%w: the title is empty", ErrInvalid)
		}
		return o.update(update, func() {
			o.emit(events.Event{Kind: events.Info, Data: events.TitleInfo{Title: update.Title, UpdatedAt: o.choices.Record.UpdatedAt}})
			reply(o.info(), nil)
		}), nil
	})
}
