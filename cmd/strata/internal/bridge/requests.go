package bridge

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"strata/cmd/strata/internal/connect"
	"strata/rpc"
)

// Bounds of the requests that are sent again after a connection was lost.
const (
	maxKept   = 64 << 20 // bytes of all frames that are kept for this; further requests fail with their connection
	maxLosses = 3        // connections that a request may lose: it may be the cause
)

// repeated are the methods whose requests are sent again on the next connection. Repeating them has no further effect: a
// prompt carries an id by which the server recognizes it.
var repeated = []string{
	methodInitialize, "authenticate", "session/list", "session/resume", "session/close", "session/set_config_option", "session/set_mode",
	methodPrompt,
}

const (
	methodInitialize = "initialize"
	methodPrompt     = "session/prompt"
)

// message is a message to the server.
type message struct {
	frame   []byte
	request *request // nil for a notification or response
}

// request is a request of the editor without a response.
type request struct {
	rpc.Envelope        // copied; without the parameters of a prompt
	frame        []byte // to send again; nil if it must not be repeated
	session      string // that a prompt names
	losses       int
}

// prepare returns a message of the editor as it is sent: a prompt gets an id.
func (b *bridge) prepare(e rpc.Envelope, line []byte) message {
	if e.ID == nil {
		return message{frame: line}
	}
	r := &request{Envelope: rpc.Envelope{ID: bytes.Clone(e.ID), Method: e.Method}}
	m := message{frame: line, request: r}
	repeats := slices.Contains(repeated, e.Method)
	if e.Method == methodPrompt {
		var identified []byte
		identified, r.session, repeats = identify(e)
		if repeats = repeats && int64(len(identified)) <= b.limit.Load(); repeats {
			m.frame = identified
		}
	} else {
		r.Params = bytes.Clone(e.Params)
	}
	if repeats {
		r.frame = bytes.Clone(m.frame)
	}
	return m
}

// identify returns a prompt's frame with a promptId, the editor's if it has one, and the session that it names. ok is
// false if the parameters are not those of a prompt.
func identify(e rpc.Envelope) (frame []byte, session string, ok bool) {
	var params, meta, strata map[string]json.RawMessage
	if json.Unmarshal(e.Params, &params) != nil || params == nil || json.Unmarshal(params["sessionId"], &session) != nil {
		return nil, "", false
	}
	if raw, given := params["_meta"]; given && json.Unmarshal(raw, &meta) != nil {
		return nil, session, false
	}
	if raw, given := meta["strata"]; given && json.Unmarshal(raw, &strata) != nil {
		return nil, session, false
	}
	var id string
	if raw, given := strata["promptId"]; given && json.Unmarshal(raw, &id) != nil {
		return nil, session, false
	}
	if id == "" {
		set(&strata, "promptId", "stdio-"+rand.Text())
		set(&meta, "strata", strata)
		set(&params, "_meta", meta)
	}
	frame, err := rpc.CallFrame(e.ID, e.Method, params)
	return frame, session, err == nil
}

// set sets a member of an object; value must be encodable.
func set(object *map[string]json.RawMessage, name string, value any) {
	if *object == nil {
		*object = make(map[string]json.RawMessage)
	}
	var encoded bytes.Buffer
	encoder := json.NewEncoder(&encoded)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	(*object)[name] = encoded.Bytes()
}

// requests are the editor's requests without a response, in the order in which they were sent.
type requests struct {
	list []*request
	kept int           // bytes of their frames
	none chan struct{} // closed when there is none; nil without a waiter

	greeted chan struct{} // closed when there is no initialize; nil without a waiter
}

// add adds a request. The server refuses a second request with an id that is in flight, and its response has no id.
func (q *requests) add(r *request) {
	if q.find(r.ID) != nil {
		return
	}
	if q.kept+len(r.frame) > maxKept {
		r.frame = nil
	}
	q.kept += len(r.frame)
	q.list = append(q.list, r)
}

// find returns the request with an id; nil if there is none.
func (q *requests) find(id json.RawMessage) *request {
	for _, r := range q.list {
		if bytes.Equal(r.ID, id) {
			return r
		}
	}
	return nil
}

// answered removes a request.
func (q *requests) answered(answered *request) {
	q.remove(func(r *request) bool { return r == answered })
}

// lost removes the requests that must fail because the connection was lost, and returns them.
func (q *requests) lost() (failed []*request) {
	return q.remove(func(r *request) bool {
		r.losses++
		return r.frame == nil || r.losses >= maxLosses
	})
}

// remove removes the requests for which is returns true, and returns them.
func (q *requests) remove(is func(*request) bool) (removed []*request) {
	q.list = slices.DeleteFunc(q.list, func(r *request) bool {
		if !is(r) {
			return false
		}
		removed = append(removed, r)
		q.kept -= len(r.frame)
		return true
	})
	q.wake()
	return removed
}

// frames returns the frames of all requests, which are to be sent again.
func (q *requests) frames() [][]byte {
	frames := make([][]byte, len(q.list))
	for i, r := range q.list {
		frames[i] = r.frame
	}
	return frames
}

// whenNone returns a channel that is closed when there is no request.
func (q *requests) whenNone() <-chan struct{} {
	if q.none == nil {
		q.none = make(chan struct{})
	}
	none := q.none
	q.wake()
	return none
}

// whenGreeted returns a channel that is closed when there is no initialize without a response; nil if there is none.
func (q *requests) whenGreeted() <-chan struct{} {
	if q.greeted == nil && q.greets() {
		q.greeted = make(chan struct{})
	}
	return q.greeted
}

// greets reports whether there is an initialize without a response.
func (q *requests) greets() bool {
	return slices.ContainsFunc(q.list, func(r *request) bool { return r.Method == methodInitialize })
}

func (q *requests) wake() {
	if len(q.list) == 0 && q.none != nil {
		close(q.none)
		q.none = nil
	}
	if q.greeted != nil && !q.greets() {
		close(q.greeted)
		q.greeted = nil
	}
}

// asked are the requests of the server without a response. The editor knows them under ids of the bridge, which are
// unique over all connections: a response to a request of an earlier server must not reach another one. A server has a
// bounded number of requests in flight, and cancels those that it gives up.
type asked struct {
	last int
	open map[string]question // by id of the bridge
	some chan struct{}       // closed when there is one; nil without a waiter
}

// question is a request of a server.
type question struct {
	id     json.RawMessage // the server's
	server *connect.Stream
}

// add returns the id for the editor of a request of a server.
func (a *asked) add(server *connect.Stream, id json.RawMessage) json.RawMessage {
	if a.open == nil {
		a.open = make(map[string]question)
	}
	a.last++
	own := strconv.Quote(fmt.Sprintf("strata-%d", a.last))
	a.open[own] = question{bytes.Clone(id), server}
	a.wake()
	return json.RawMessage(own)
}

// whenAny returns a channel that is closed when there is a request.
func (a *asked) whenAny() <-chan struct{} {
	if a.some == nil {
		a.some = make(chan struct{})
	}
	some := a.some
	a.wake()
	return some
}

func (a *asked) wake() {
	if len(a.open) > 0 && a.some != nil {
		close(a.some)
		a.some = nil
	}
}

// answered removes the request that the editor responds to. known is false for a request of an earlier connection, or one
// that was cancelled.
func (a *asked) answered(own json.RawMessage) (q question, known bool) {
	q, known = a.open[string(own)]
	delete(a.open, string(own))
	return q, known
}

// cancelled removes the request that a server no longer waits for, by its id, and returns the id for the editor.
func (a *asked) cancelled(server *connect.Stream, id json.RawMessage) (own json.RawMessage, known bool) {
	for own, q := range a.open {
		if q.server == server && bytes.Equal(q.id, id) {
			delete(a.open, own)
			return json.RawMessage(own), true
		}
	}
	return nil, false
}

// lost forgets all requests and returns the ids under which the editor knows them.
func (a *asked) lost() (own []string) {
	own = slices.Sorted(maps.Keys(a.open))
	a.open = nil
	return own
}
