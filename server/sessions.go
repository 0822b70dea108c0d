package server

import (
	"context"
	"fmt"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/transfer"
	"strata/server/wire"
	"strata/session"
	"strata/session/choices"
	"strata/session/events"
	"strata/session/servers"
	"strata/session/toolbox"
)

func newSession(p *peer, r *rpc.Request, params wire.NewSessionParams, declared *toolbox.Declaration) {
	r.Go(func(context.Context) (any, error) {
		record, err := params.Record(p.folders.Check)
		if err != nil {
			return nil, err
		}
		p.makeRoom()
		record.ID = p.newID("sess_")
		p.monitors.Expect(record.ID)
		s, release, err := p.sessions.create(record)
		if err != nil {
			p.monitors.Forget(record.ID)
			return nil, err
		}
		defer release()
		s.Toolbox().Submit(p.offer(s, declared))
		return p.enter(r, s, params.Meta.Strata.HeldWorkspace, func(i session.Info) any {
			p.greet(s)
			p.useServers(s, servers.Opening{Named: params.MCPServers})
			return p.opened(i)
		})
	})
}

// enter subscribes the connection to a new session, responds with result, and then announces the session to all clients.
func (p *peer) enter(r *rpc.Request, s *session.Session, held wire.HeldWorkspace, result func(session.Info) any) (any, error) {
	sub, err := p.subscribeTo(s, held)
	if err != nil {
		p.monitors.Forget(s.ID())
		return nil, err
	}
	respond := responder(r, s, result)
	s.Subscribe(sub.cursor.Load(), func(i session.Info, err error) {
		respond(i, err)
		if err != nil {
			p.monitors.Forget(s.ID())
			return
		}
		sub.commands.Update(true)
		p.monitors.Created(i.Session)
	})
	return rpc.Later, nil
}

// opened returns the result for a new session.
func (p *peer) opened(i session.Info) wire.NewSessionResult {
	return wire.NewSessionResult{
		SessionID: i.Session.ID, Modes: wire.Modes(i), ConfigOptions: wire.ConfigOptions(i, p.Models.Catalogue()),
	}
}

// useServers starts the MCP servers of a session that the client opens.
func (p *peer) useServers(s *session.Session, o servers.Opening) {
	if sub := p.subscription(s); sub != nil {
		o = o.In(sub.Environment())
	}
	s.Servers().Open(o)
}

// loadSession replays the transcript, then responds.
func loadSession(p *peer, r *rpc.Request, params wire.OpenSessionParams) {
	p.reopen(r, params, func(s *session.Session, sub *subscription, result func(session.Info) any) {
		s.Replay(sub.cursor.Load(), func(i session.Info, err error) {
			if err != nil {
				r.Fail(wire.SessionError(s.ID(), err))
				return
			}
			r.ReplyAfter(result(i), sub, afterReplay)
			sub.commands.Update(true)
		})
	})
}

// resumeSession responds without a replay.
func resumeSession(p *peer, r *rpc.Request, params wire.OpenSessionParams) {
	p.reopen(r, params, func(s *session.Session, sub *subscription, result func(session.Info) any) {
		s.Resume(sub.cursor.Load(), thenCommands(sub, responder(r, s, result)))
	})
}

// thenCommands returns a function that responds, and then tells the client the commands of the session.
func thenCommands[T any](sub *subscription, respond func(T, error)) func(T, error) {
	return func(value T, err error) {
		respond(value, err)
		if err == nil {
			sub.commands.Update(true)
		}
	}
}

// reopened returns the result for a stored session.
func (p *peer) reopened(i session.Info) any {
	return wire.ConfigOptionsResult{Modes: wire.Modes(i), ConfigOptions: wire.ConfigOptions(i, p.Models.Catalogue())}
}

// reopen checks the folders that a client names for a stored session, sets the roots and the model if the client names
// any, subscribes the connection, and calls then. result returns the result for the client, and starts the MCP servers: a
// prompt that follows the response waits for them.
func (p *peer) reopen(
	r *rpc.Request, params wire.OpenSessionParams, then func(s *session.Session, sub *subscription, result func(session.Info) any),
) {
	r.Go(func(ctx context.Context) (any, error) {
		s, release, err := p.open(params.SessionID)
		if err != nil {
			return nil, err
		}
		defer release()
		info, err := wait(ctx, s.Info)
		if err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		to, err := p.destination(info.Session, params.FolderParams, params.Meta.Strata.Moved)
		if err != nil {
			return nil, err
		}
		if to.from != "" || len(to.Roots) > 0 {
			info, err = wait(ctx, func(reply func(session.Info, error)) { s.SetFolders(to.CWD, to.Roots, reply) })
			if err != nil {
				return nil, wire.SessionError(s.ID(), err)
			}
		}
		if model := params.Meta.Strata.Model; model != "" {
			_, err := wait(ctx, func(reply func(session.Configured, error)) {
				s.Configure(choices.OptionModel, model, p.cursor(s), reply)
			})
			if err != nil {
				return nil, wire.SessionError(s.ID(), err)
			}
		}
		sub, err := p.subscribeTo(s, params.Meta.Strata.HeldWorkspace)
		if err != nil {
			return nil, err
		}
		then(s, sub, func(i session.Info) any {
			p.useServers(s, servers.Opening{Named: params.MCPServers})
			return p.reopened(i)
		})
		p.greet(s)
		if to.from != "" {
			s.Notify(fmt.Sprintf("The session has moved from %s to %s.", to.from, to.CWD))
			p.monitors.Renamed(info.Session)
		}
		return rpc.Later, nil
	})
}

func listSessions(p *peer, r *rpc.Request, params wire.ListParams) {
	r.Go(func(ctx context.Context) (any, error) {
		folders, err := p.sessionFolders(ctx, wire.FolderScope{CWD: params.CWD})
		if err != nil {
			return nil, err
		}
		query := historystore.SessionQuery{Folders: folders, Cursor: params.Cursor, Limit: wire.PageSize, Held: params.Held()}
		records, next, err := p.store.Sessions(ctx, query)
		if err != nil {
			return nil, err
		}
		var shown []string
		for i := range records {
			if !records[i].Config.IsRemote() {
				shown = append(shown, records[i].CWD)
			}
		}
		p.folders.Look(shown)
		result := wire.ListResult{Sessions: make([]wire.SessionInfo, len(records)), NextCursor: next}
		for i, record := range records {
			result.Sessions[i] = p.monitors.Info(record)
		}
		return result, nil
	})
}

func closeSession(p *peer, r *rpc.Request, params wire.SessionParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if _, err := p.store.Session(ctx, params.SessionID); err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		return struct{}{}, p.sessions.close(ctx, params.SessionID, session.ReasonClosed)
	})
}

func deleteSession(p *peer, r *rpc.Request, params wire.SessionParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if _, err := p.store.Session(ctx, params.SessionID); err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		if err := p.sessions.close(ctx, params.SessionID, session.ReasonDeleted); err != nil {
			return nil, err
		}
		if err := p.store.Delete(ctx, params.SessionID, p.now()); err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		r.Reply(struct{}{})
		p.monitors.Deleted(params.SessionID)
		return rpc.Later, nil
	})
}

func undelete(p *peer, r *rpc.Request, params wire.SessionParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if err := p.store.Undelete(ctx, params.SessionID); err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		record, err := p.store.Session(ctx, params.SessionID)
		if err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		r.Reply(p.monitors.Entry(record))
		p.monitors.Created(record)
		return rpc.Later, nil
	})
}

func sessionInfo(p *peer, r *rpc.Request, params wire.SessionParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		s.Info(responder(r, s, func(i session.Info) any {
			details := wire.NewSessionDetails(i)
			details.Session.SetFolder(p.folders.Known(i.Session.CWD))
			return details
		}))
	})
}

func rename(p *peer, r *rpc.Request, params wire.RenameParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		respond := responder(r, s, func(i session.Info) any { return p.monitors.Entry(i.Session) })
		s.Rename(params.Title, func(i session.Info, err error) {
			respond(i, err)
			if err == nil {
				p.monitors.Renamed(i.Session)
			}
		})
	})
}

// attach subscribes the connection to all events of a session, from a position on.
func attach(p *peer, r *rpc.Request, params wire.AttachParams) {
	p.withSession(r, params.SessionID, func(s *session.Session) {
		sub, err := p.subscribeTo(s, params.HeldWorkspace)
		if err != nil {
			r.Fail(err)
			return
		}
		sub.all.Store(true)
		sub.cursor.Load().ReceiveOwn(params.Own)
		since := events.Since{Epoch: params.Epoch, After: uint64(params.After)}
		s.Attach(sub.cursor.Load(), since, thenCommands(sub, responder(r, s, func(a session.Attached) any {
			result := wire.NewAttached(a)
			if result.Snapshot != nil {
				result.Snapshot.Session.SetFolder(p.folders.Known(result.Snapshot.Session.CWD))
			}
			return result
		})))
	})
}

// detach undoes attach: the connection still receives session/update, unless it unsubscribes.
func detach(p *peer, r *rpc.Request, params wire.DetachParams) {
	s, ok := p.sessions.get(params.SessionID)
	if !ok {
		r.Reply(struct{}{})
		return
	}
	sub := p.subscription(s)
	switch {
	case sub == nil:
		r.Reply(struct{}{})
	case params.Unsubscribe:
		p.unsubscribe(s)
		r.Reply(struct{}{})
	default:
		sub.all.Store(false)
		respond := responder[struct{}](r, s, nil)
		s.Detach(sub.cursor.Load(), func(err error) { respond(struct{}{}, err) })
	}
}

// forkSession is ACP's fork: of the newest state, in the folder that the client names.
func forkSession(p *peer, r *rpc.Request, params wire.OpenSessionParams) {
	p.fork(r, params.SessionID, session.ForkRequest{}, params.MCPServers, params.Meta.Strata.HeldWorkspace, func(stored history.Session) (history.Session, error) {
		to, err := p.destination(stored, params.FolderParams, params.Meta.Strata.Moved)
		if len(to.Roots) == 0 && to.from == "" {
			to.Roots = stored.Roots
		}
		return to.Session, err
	}, func(s *session.Session, i session.Info, _ int64) any {
		p.greet(s)
		return p.opened(i)
	})
}

// forkAt is our own fork: of any state, in the folder of the session.
func forkAt(p *peer, r *rpc.Request, params wire.ForkParams) {
	p.fork(r, params.SessionID, session.ForkRequest(params.At), nil, params.HeldWorkspace, func(stored history.Session) (history.Session, error) {
		to, err := p.destination(stored, wire.FolderParams{CWD: stored.CWD, Further: stored.Roots}, false)
		return to.Session, err
	}, func(_ *session.Session, i session.Info, seq int64) any {
		return wire.ForkResult{NewSessionResult: p.opened(i), Seq: seq}
	})
}

// fork makes a session of a state of another one and subscribes the connection to it. The MCP servers named replace those of
// the other one, if there are any. folders returns the checked folders of the fork, result the result of the request.
func (p *peer) fork(
	r *rpc.Request, id string, at session.ForkRequest, named wire.MCPServers, held wire.HeldWorkspace, folders func(stored history.Session) (history.Session, error),
	result func(fork *session.Session, i session.Info, seq int64) any,
) {
	r.Go(func(ctx context.Context) (any, error) {
		source, releaseSource, err := p.open(id)
		if err != nil {
			return nil, err
		}
		defer releaseSource()
		state, err := wait(ctx, func(reply func(session.Fork, error)) { source.Fork(at, reply) })
		if err != nil {
			return nil, wire.SessionError(id, err)
		}
		checked, err := folders(state.Session)
		if err != nil {
			return nil, err
		}
		state.Session.CWD, state.Session.Roots = checked.CWD, checked.Roots
		record, err := p.importer.Fork(ctx, state)
		if err != nil {
			p.monitors.Forget(record.ID)
			return nil, fmt.Errorf("fork session %s: %w", id, err)
		}
		s, release, err := p.open(record.ID)
		if err != nil {
			p.monitors.Forget(record.ID)
			return nil, err
		}
		defer release()
		return p.enter(r, s, held, func(i session.Info) any {
			if len(named) > 0 {
				state.Servers.Named = named
			}
			p.useServers(s, state.Servers)
			return result(s, i, state.Seq)
		})
	})
}

func exportSession(p *peer, r *rpc.Request, params wire.HistoryParams) {
	r.Go(func(ctx context.Context) (any, error) {
		page, err := transfer.Export(ctx, p.store, params.SessionID, params.Cursor)
		if err != nil {
			return nil, wire.SessionError(params.SessionID, err)
		}
		return page, nil
	})
}

func importSession(p *peer, r *rpc.Request, params transfer.ImportPage) {
	r.Go(func(ctx context.Context) (any, error) {
		result, err := p.importer.Import(ctx, params)
		if err != nil || result.SessionID == "" {
			return result, err
		}
		record, err := p.store.Session(ctx, result.SessionID)
		if err != nil {
			p.monitors.Forget(result.SessionID)
			return nil, fmt.Errorf("import: %w", err)
		}
		r.Reply(result)
		p.monitors.Created(record)
		return rpc.Later, nil
	})
}
