package server

import (
	"context"
	"reflect"

	"strata/internal/await"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
)

// on returns a method whose handler takes decoded parameters. The handler must not block.
func on[P any](handle func(p *peer, r *rpc.Request, params P)) method {
	return method{params: reflect.TypeFor[P](), handle: func(p *peer, r *rpc.Request) {
		var params P
		if err := wire.Decode(r.Params(), &params); err != nil {
			r.Fail(err)
			return
		}
		handle(p, r, params)
	}}
}

// parsed is on for parameters that are parsed further: parse returns the value for handle, or the error for the client.
func parsed[P, T any](parse func(*P) (T, error), handle func(p *peer, r *rpc.Request, params P, value T)) method {
	return on(func(p *peer, r *rpc.Request, params P) {
		value, err := parse(&params)
		if err != nil {
			r.Fail(err)
			return
		}
		handle(p, r, params, value)
	})
}

// inSession returns a method that passes decoded parameters to the session that they name. show converts the session's
// reply into the result of the method; nil leaves it unchanged.
func inSession[P interface{ Session() string }, T any](
	call func(s *session.Session, params P, reply func(T, error)), show func(T) any,
) method {
	return on(func(p *peer, r *rpc.Request, params P) {
		p.withSession(r, params.Session(), func(s *session.Session) { call(s, params, responder(r, s, show)) })
	})
}

// query is inSession for a method of session.Session without other parameters.
func query[T any](call func(s *session.Session, reply func(T, error)), show func(T) any) method {
	return inSession(func(s *session.Session, _ wire.SessionParams, reply func(T, error)) { call(s, reply) }, show)
}

// withSession calls use with the session that a request names.
func (p *peer) withSession(r *rpc.Request, id string, use func(*session.Session)) {
	s, release, err := p.open(id)
	if err != nil {
		r.Fail(err)
		return
	}
	defer release()
	use(s)
}

// open is registry.open for a request of this connection, which may watch so many sessions that another one has no room.
func (p *peer) open(id string) (s *session.Session, release func(), err error) {
	if _, loaded := p.sessions.get(id); !loaded {
		p.makeRoom()
	}
	return p.sessions.open(id)
}

// responder returns the function by which a session responds to a request. show is as for inSession.
func responder[T any](r *rpc.Request, s *session.Session, show func(T) any) func(T, error) {
	return func(value T, err error) {
		switch {
		case err != nil:
			r.Fail(wire.SessionError(s.ID(), err))
		case show == nil:
			r.Reply(value)
		default:
			r.Reply(show(value))
		}
	}
}

// wait calls a session's method and waits for its reply.
func wait[T any](ctx context.Context, call func(reply func(T, error))) (T, error) {
	return await.Reply(ctx, call)
}

// under returns a function that wraps a value as the only member of a result.
func under[T any](name string) func(T) any {
	return func(value T) any { return map[string]T{name: value} }
}
