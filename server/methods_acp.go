package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/session"
)

func initialize(p *peer, r *rpc.Request, params initializeParams) {
	switch {
	case p.initialized:
		r.Fail(&rpc.Error{Code: rpc.CodeInvalidRequest, Message: "the connection is initialized already"})
		return
	case params.ProtocolVersion == nil:
		r.Fail(invalidParams("protocolVersion is missing"))
		return
	}
	p.initialized = true
	if s := params.ClientCapabilities.Session; s != nil {
		p.notices, p.compaction = s.Notices != nil, s.Compaction != nil
	}
	r.Reply(p.server.initializeResult())
}

func (s *Server) initializeResult() initializeResult {
	return initializeResult{
		ProtocolVersion: protocolVersion,
		AgentCapabilities: agentCapabilities{
			LoadSession:        true,
			PromptCapabilities: promptCapabilities{Image: true, EmbeddedContext: true},
			Meta: capabilitiesMeta{Strata: extensionCapabilities{
				Version:       s.opt.Version,
				Methods:       extensionMethods(s.methods, s.opt.Debug),
				Notifications: []string{methodEvent, methodServerEvent},
			}},
		},
		AgentInfo:   implementation{Name: "strata", Title: "Strata", Version: s.opt.Version},
		AuthMethods: []struct{}{},
	}
}

// authenticate has nothing to do: the transport has authenticated the client.
func authenticate(_ *peer, r *rpc.Request, _ struct{}) { r.Reply(struct{}{}) }

func newSession(p *peer, r *rpc.Request, params newSessionParams) {
	r.Go(func(context.Context) (any, error) {
		record, err := p.server.folders(params.folderParams)
		if err != nil {
			return nil, err
		}
		s, err := p.server.sessions.create(record)
		if err != nil {
			return nil, err
		}
		f, err := p.feed(s)
		if err != nil {
			return nil, err
		}
		s.Subscribe(f.cursor.Load(), answer(r, s.ID(), func(i session.Info) any {
			p.server.monitors.created(i.Session)
			return p.opened(s, i)
		}))
		p.mcpNotice(s, params.MCPServers)
		return rpc.Later, nil
	})
}

// opened is the answer to whoever made a session.
func (p *peer) opened(s *session.Session, i session.Info) newSessionResult {
	return newSessionResult{SessionID: s.ID(), Modes: modes(i), ConfigOptions: p.server.options(i)}
}

// folders checks the folders that a session is to work in.
func (s *Server) folders(params folderParams) (history.Session, error) {
	var record history.Session
	if params.CWD == nil {
		return record, invalidParams("cwd is missing")
	}
	cwd, err := s.folder("cwd", *params.CWD)
	if err != nil {
		return record, err
	}
	record.CWD = cwd
	for i, dir := range params.Further {
		dir, err := s.folder(fmt.Sprintf("additionalDirectories[%d]", i), dir)
		if err != nil {
			return record, err
		}
		record.Roots = append(record.Roots, dir)
	}
	return record, nil
}

// folder checks one folder: absolute, there, and one that sessions may work in.
func (s *Server) folder(field, dir string) (string, error) {
	if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", invalidParams("%s: %q is not an absolute path", field, clip(dir))
	}
	dir = filepath.Clean(dir)
	info, err := os.Stat(dir)
	if err != nil || !info.IsDir() {
		return "", invalidParams("%s: %s is not a folder that exists", field, clip(dir))
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", invalidParams("%s: %s cannot be resolved", field, clip(dir))
	}
	if reason := s.forbidden(real); reason != "" {
		return "", invalidParams("%s: %s %s", field, clip(dir), reason)
	}
	return dir, nil
}

// allowed returns an error where sessions may not work in a folder, which need not exist.
func (s *Server) allowed(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // nothing can be read there
	}
	if reason := s.forbidden(real); reason != "" {
		return fmt.Errorf("%s %s", dir, reason)
	}
	return nil
}

// forbidden says why sessions may not work in a folder; empty if they may.
func (s *Server) forbidden(dir string) string {
	if dir == filepath.Dir(dir) {
		return "is the root of the file system"
	}
	for _, own := range s.ownFolders {
		if within(dir, own) {
			return "belongs to this server"
		}
	}
	if len(s.roots) == 0 {
		return ""
	}
	for _, root := range s.roots {
		if within(dir, root) {
			return ""
		}
	}
	return "is outside workspaces.roots of the configuration"
}

// within reports whether dir is root or lies in it. Both are clean and resolved.
func within(dir, root string) bool {
	rel, err := filepath.Rel(root, dir)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// mcpNotice tells the client, which is subscribed by now, that servers that it named are not used.
func (p *peer) mcpNotice(s *session.Session, servers []json.RawMessage) {
	if len(servers) > 0 {
		s.Notify(fmt.Sprintf("Servers of the Model Context Protocol were named (%d); Strata offers no tools to the model and does not use them.", len(servers)))
	}
}

// behindReplay is the place of an answer behind all that its feed has to send. What is replayed has no numbers of
// its own: behind the newest event's it could still be to come.
const behindReplay = math.MaxUint64

// loadSession replays the transcript, then answers.
func loadSession(p *peer, r *rpc.Request, params openSessionParams) {
	p.reopen(r, params, func(s *session.Session, f *feed) {
		s.Replay(f.cursor.Load(), func(i session.Info, err error) {
			if err != nil {
				r.Fail(sessionError(s.ID(), err))
				return
			}
			r.ReplyAfter(configOptionsResult{Modes: modes(i), ConfigOptions: p.server.options(i)}, f, behindReplay)
		})
	})
}

// resumeSession does not replay.
func resumeSession(p *peer, r *rpc.Request, params openSessionParams) {
	p.reopen(r, params, func(s *session.Session, f *feed) {
		s.Subscribe(f.cursor.Load(), answer(r, s.ID(), func(i session.Info) any {
			return configOptionsResult{Modes: modes(i), ConfigOptions: p.server.options(i)}
		}))
	})
}

// reopen checks the folders of load and resume, chooses the model where one is named, and goes on with then.
func (p *peer) reopen(r *rpc.Request, params openSessionParams, then func(*session.Session, *feed)) {
	r.Go(func(ctx context.Context) (any, error) {
		s, err := p.server.sessions.open(params.SessionID)
		if err != nil {
			return nil, err
		}
		info, err := wait(ctx, s.Info)
		if err != nil {
			return nil, sessionError(params.SessionID, err)
		}
		record, err := p.server.folders(params.folderParams)
		if err != nil {
			return nil, err
		}
		if filepath.Clean(info.Session.CWD) != record.CWD {
			return nil, invalidParams("cwd: the session belongs to %s", info.Session.CWD)
		}
		if err := p.prepare(ctx, s, params, record); err != nil {
			return nil, err
		}
		f, err := p.feed(s)
		if err != nil {
			return nil, err
		}
		then(s, f)
		p.mcpNotice(s, params.MCPServers)
		return rpc.Later, nil
	})
}

// prepare applies what a client that opens a stored session asks for.
func (p *peer) prepare(ctx context.Context, s *session.Session, params openSessionParams, record history.Session) error {
	if len(record.Roots) > 0 {
		if _, err := wait(ctx, func(reply func(session.Info, error)) { s.SetRoots(record.Roots, reply) }); err != nil {
			return sessionError(s.ID(), err)
		}
	}
	model := params.Meta.Strata.Model
	if model == "" {
		return nil
	}
	_, err := wait(ctx, func(reply func(session.Configured, error)) {
		s.Configure(session.OptionModel, model, p.subscribed(s), reply)
	})
	return sessionError(s.ID(), err)
}

// wait calls a session's method and waits for its answer.
func wait[T any](ctx context.Context, call func(reply func(T, error))) (T, error) {
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	call(func(value T, err error) { results <- result{value, err} })
	select {
	case r := <-results:
		return r.value, r.err
	case <-ctx.Done():
		var none T
		return none, context.Cause(ctx)
	}
}

// sessionError names the session in an error that says that there is none.
func sessionError(id string, err error) error {
	if errors.Is(err, history.ErrNotFound) || errors.Is(err, session.ErrClosed) {
		return notFound("session", id)
	}
	return err
}

func listSessions(p *peer, r *rpc.Request, params listParams) {
	r.Go(func(ctx context.Context) (any, error) {
		query := historystore.SessionQuery{CWD: params.CWD, Cursor: params.Cursor, Limit: pageSize}
		records, next, err := p.server.store.Sessions(ctx, query)
		if err != nil {
			return nil, err
		}
		result := listResult{Sessions: make([]sessionInfo, len(records)), NextCursor: next}
		for i, record := range records {
			result.Sessions[i] = p.server.monitors.stated(wireSession(record))
		}
		return result, nil
	})
}

func wireSession(record history.Session) sessionInfo {
	return sessionInfo{SessionID: record.ID, CWD: record.CWD, Further: record.Roots, Title: record.Title, UpdatedAt: record.UpdatedAt.UTC()}
}

func closeSession(p *peer, r *rpc.Request, params sessionParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if _, err := p.server.store.Session(ctx, params.SessionID); err != nil {
			return nil, sessionError(clip(params.SessionID), err)
		}
		p.server.sessions.close(params.SessionID, session.ReasonClosed, func() { r.Reply(struct{}{}) })
		return rpc.Later, nil
	})
}

func deleteSession(p *peer, r *rpc.Request, params sessionParams) {
	r.Go(func(ctx context.Context) (any, error) {
		if _, err := p.server.store.Session(ctx, params.SessionID); err != nil {
			return nil, sessionError(clip(params.SessionID), err)
		}
		ended := make(chan struct{})
		p.server.sessions.close(params.SessionID, session.ReasonDeleted, func() { close(ended) })
		<-ended
		if err := p.server.store.Delete(ctx, params.SessionID, p.server.now()); err != nil {
			return nil, sessionError(params.SessionID, err)
		}
		p.server.monitors.deleted(params.SessionID)
		return struct{}{}, nil
	})
}

func prompt(p *peer, r *rpc.Request, params promptParams) {
	content, err := blocks(params.Prompt)
	if err == nil && len(params.Meta.Strata.PromptID) > maxPromptID {
		err = invalidParams("_meta.strata.promptId: %d bytes, at most %d are taken", len(params.Meta.Strata.PromptID), maxPromptID)
	}
	if err != nil {
		r.Fail(err)
		return
	}
	withSession(p, r, params.SessionID, func(s *session.Session) {
		f, err := p.feed(s)
		if err != nil {
			r.Fail(err)
			return
		}
		cancel := s.Prompt(session.Prompt{ID: params.Meta.Strata.PromptID, Blocks: content}, f.cursor.Load(), promptReply(r, s, f))
		r.OnCancel(cancel)
	})
}

func promptReply(r *rpc.Request, s *session.Session, f *feed) session.PromptReply {
	return func(result session.PromptResult, seq uint64, err error) {
		if err != nil {
			r.FailAfter(sessionError(s.ID(), err), f, seq)
			return
		}
		r.ReplyAfter(promptResult{StopReason: result.Turn.StopReason, Meta: promptMeta{Strata: outcomeOf(result)}}, f, seq)
	}
}

// promptOutcome is what the answer to a prompt tells beside ACP's stop reason.
type promptOutcome struct {
	TurnID    string            `json:"turnId"`
	UserID    string            `json:"userMessageId"`
	MessageID string            `json:"messageId"`
	Usage     history.Usage     `json:"usage"`
	Cost      float64           `json:"cost"` // US dollars
	LeftOut   []session.LeftOut `json:"leftOut,omitempty"`
}

func outcomeOf(result session.PromptResult) promptOutcome {
	t := result.Turn
	return promptOutcome{TurnID: t.ID, UserID: t.UserID, MessageID: t.ReplyID, Usage: t.Usage, Cost: t.Cost, LeftOut: result.LeftOut}
}

// cancelTurn stops the running turn. As a notification it is never answered; a session that is not in
// memory has no turn.
func cancelTurn(p *peer, r *rpc.Request, params cancelParams) {
	if s, ok := p.server.sessions.loaded(params.SessionID); ok {
		s.Cancel(params.Meta.Strata.TurnID)
	}
	r.Reply(struct{}{})
}

func cancelRequest(p *peer, r *rpc.Request, params cancelRequestParams) {
	p.conn.Cancel(params.RequestID)
	r.Reply(struct{}{})
}

func setConfigOption(p *peer, r *rpc.Request, params setConfigParams) {
	withSession(p, r, params.SessionID, func(s *session.Session) {
		s.Configure(params.ConfigID, params.Value, p.subscribed(s), answer(r, s.ID(), func(c session.Configured) any {
			result := configOptionsResult{ConfigOptions: p.server.options(c.Info)}
			if c.After != "" {
				result.Meta = strataMeta(map[string]string{"afterTurn": c.After})
			}
			return result
		}))
	})
}

// strataMeta wraps our own data for an ACP type.
func strataMeta(data any) any { return map[string]any{"strata": data} }
