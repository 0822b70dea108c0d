// Package record changes the record of a session: its options, its title and its folders.
//
// A change must never take effect before it is stored.
package record

import (
	"context"
	"fmt"
	"time"

	"strata/filecontext"
	"strata/history"
	"strata/internal/clip"
	"strata/session/choices"
	"strata/session/content"
	"strata/session/events"
	"strata/session/following"
	"strata/session/mailbox"
	"strata/session/outlines"
	"strata/session/remote"
	"strata/session/workspace"
)

// Host is the part of a session that changes of its record use. Its methods belong to the mailbox.
type Host interface {
	// Choices returns the choices of the session, which hold the record.
	Choices() *choices.Choices
	// Info returns the state of the session for clients.
	Info() following.Info
	// Running returns the id of the running turn, empty for none.
	Running() string
	// Store returns the work that stores a change under the name of the operation, and then runs then on the mailbox.
	Store(what string, change history.Change, then func()) mailbox.Work
	// FoldersChanged records that the folders of the session have changed.
	FoldersChanged()
	// Reconsider decides again on the call that waits for an approval.
	Reconsider()
	// TellUsage sends subscribers the use of the window.
	TellUsage()
}

// Services are the parts of the server that changes of records use.
type Services struct {
	Choices  *choices.Services
	Files    filecontext.Limits
	Outlines *outlines.Services // nil: none
	Now      func() time.Time
}

// Changes changes the record of one session. It belongs to the session's mailbox; the methods with a reply can be
// called from any goroutine.
type Changes struct {
	session   string
	services  *Services
	host      Host
	mailbox   *mailbox.Mailbox
	events    *events.Stream
	workspace *workspace.Workspace
}

// New returns the Changes of a session.
func New(session string, services *Services, host Host, box *mailbox.Mailbox, stream *events.Stream, files *workspace.Workspace) *Changes {
	return &Changes{session: session, services: services, host: host, mailbox: box, events: stream, workspace: files}
}

// Configured is the response to a change of an option.
type Configured struct {
	Info  following.Info
	After string // id of the running turn after which it takes effect; empty for immediately
}

// told are the subscribers that receive no event for a change, because the response contains it.
type told struct{ options, mode *events.Cursor }

// Configure selects a value for an option, and stores it with the session. The value takes effect with the next turn; the
// approval takes effect immediately. author receives the options in the response, and an event only if the mode changes, too.
func (c *Changes) Configure(option, value string, author *events.Cursor, reply func(Configured, error)) {
	c.configure(func() string { return option }, value, told{options: author}, reply)
}

// SetMode selects a phase of the profile, or the approval if the profile has no phases, as Configure does. author receives an
// event with the options, because the response has none.
func (c *Changes) SetMode(mode string, author *events.Cursor, reply func(Configured, error)) {
	c.configure(func() string { return c.host.Choices().ModeOption() }, mode, told{mode: author}, reply)
}

func (c *Changes) configure(of func() string, value string, told told, reply func(Configured, error)) {
	mailbox.Change(c.mailbox, reply, func() (mailbox.Work, error) {
		option := of()
		update, err := c.host.Choices().With(option, value)
		if err != nil {
			return nil, err
		}
		return c.update(update, func() { c.configured(option, told, reply) }), nil
	})
}

// update returns the work that stores a changed record; then runs on the mailbox once it is stored.
func (c *Changes) update(record history.Session, then func()) mailbox.Work {
	record.UpdatedAt = c.services.Now()
	return c.host.Store("update session "+c.session, history.Change{Update: &record}, func() {
		c.host.Choices().Record = record
		then()
	})
}

func (c *Changes) configured(option string, told told, reply func(Configured, error)) {
	own := c.host.Choices()
	mode := own.Mode()
	own.Renew()
	configured := Configured{Info: c.host.Info()}
	if choices.TakesEffectAtOnce(option) {
		c.host.Reconsider()
	} else {
		configured.After = c.host.Running()
	}
	c.events.Emit(events.Event{Kind: events.Options, Data: configured.Info, Origin: told.options.Identity()})
	if now := own.Mode(); now != mode {
		c.events.Emit(events.Event{Kind: events.Mode, Text: now, Origin: told.mode.Identity()})
	}
	c.events.Emit(events.Event{Kind: events.ConfigChanged, Data: events.ConfigInfo{Config: own.Config()}})
	c.host.TellUsage()
	reply(configured, nil)
}

// Rename sets the title of the session. Automatic titles no longer replace it.
func (c *Changes) Rename(title string, reply func(following.Info, error)) {
	mailbox.Change(c.mailbox, reply, func() (mailbox.Work, error) {
		update := c.host.Choices().Record
		update.Title, update.TitleByUser = content.TidyTitle(title, content.MaxTitle), true
		if update.Title == "" {
			return nil, fmt.Errorf("%w: the title is empty", mailbox.ErrInvalid)
		}
		return c.update(update, func() {
			now := c.host.Choices().Record
			c.events.Emit(events.Event{Kind: events.Info, Data: events.TitleInfo{Title: now.Title, UpdatedAt: now.UpdatedAt}})
			reply(c.host.Info(), nil)
		}), nil
	})
}

// SetFolders replaces the session's folder and its further roots. The caller must have checked them.
func (c *Changes) SetFolders(cwd string, roots []string, reply func(following.Info, error)) {
	mailbox.Change(c.mailbox, reply, func() (mailbox.Work, error) {
		if c.workspace.IsRemote() {
			return nil, fmt.Errorf("%w: a client has the files of the session: its folder is a name and cannot change", mailbox.ErrInvalid)
		}
		moves := c.host.Choices().Record.CWD != cwd
		return func(ctx context.Context) (mailbox.Step, error) {
			opened := workspace.OpenFolders(ctx, cwd, roots, c.services.Files, c.services.Choices.Allowed)
			var read choices.FolderRules
			if moves {
				read = c.services.Choices.RulesOf(ctx, cwd)
			}
			return func() (mailbox.Work, error) {
				update := c.host.Choices().Record
				update.CWD, update.Roots = cwd, roots
				return c.update(update, func() {
					if moves {
						c.host.Choices().Use(read)
						c.events.Emit(events.Event{Kind: events.Options, Data: c.host.Info()})
					}
					c.useFolders(opened)
					reply(c.host.Info(), nil)
				}), nil
			}, nil
		}, nil
	})
}

// OpenFolders opens the folders of a session that is loaded. It belongs to the mailbox.
func (c *Changes) OpenFolders() {
	r := c.host.Choices().Record
	if r.Config.IsRemote() {
		c.useFolders(workspace.OpenRemote(remote.New(r.CWD), r.CWD, c.services.Files))
		return
	}
	c.useFolders(workspace.OpenFolders(c.mailbox.UntilShut(), r.CWD, r.Roots, c.services.Files, c.services.Choices.Allowed))
}

// useFolders sets the opened folders of the session.
func (c *Changes) useFolders(opened workspace.Folders) {
	c.workspace.Use(opened, c.services.Outlines)
	own := c.host.Choices()
	if own.Profile.Budget.ShowsWorkspace() {
		c.workspace.Outlines().Open()
	}
	own.FolderNotice = ""
	if c.workspace.Roots() == nil {
		own.FolderNotice = "Cannot open the session folder " + clip.Name(own.Record.CWD) + "; files are unavailable. If the folder has moved, open the session with the new one."
	}
	c.host.FoldersChanged()
}
