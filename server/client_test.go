package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
	"strata/session"
	"strata/session/approval"
	"strata/session/clients"
	"strata/session/tools"
)

// read is the outcome of a request for a file.
type read struct {
	Text, Error string
	Code        int // of the editor's error
}

// askable is a server whose requests to editors a test makes.
type askable struct {
	*testServer
	found chan *subscription
}

func startAskable(t *testing.T) *askable {
	t.Helper()
	ts := &askable{testServer: startServer(t)}
	ts.serveTests()
	return ts
}

// serveTests adds the method by which a test finds a subscription. It must be called before there is a connection.
func (ts *askable) serveTests() {
	ts.found = make(chan *subscription, 1)
	ts.server.methods["test/subscription"] = on(func(p *peer, r *rpc.Request, params wire.SessionParams) {
		p.withSession(r, params.SessionID, func(s *session.Session) {
			ts.found <- p.subscription(s)
			r.Reply(struct{}{})
		})
	})
}

// client returns the server's side of an editor's subscription.
func (ts *askable) client(e *testclient.Editor, sid string) *subscription {
	ts.t.Helper()
	if err := e.Call("test/subscription", map[string]any{"sessionId": sid}, nil); err != nil {
		ts.t.Fatal(err)
	}
	return <-ts.found
}

// reads asks a client for a file in a goroutine.
func reads(ctx context.Context, client clients.Client, path string) <-chan read {
	out := make(chan read, 1)
	go func() { out <- outcome(client.ReadTextFile(ctx, clients.Read{Path: path}, 0)) }()
	return out
}

func outcome(text string, err error) read {
	out := read{Text: text}
	if refused, ok := errors.AsType[*clients.Refused](err); ok {
		return read{Code: refused.Code, Error: refused.Message}
	}
	for name, known := range map[string]error{
		"gone": clients.ErrGone, "late": clients.ErrLate, "busy": clients.ErrBusy, "invalid": clients.ErrInvalid,
	} {
		if errors.Is(err, known) {
			return read{Error: name}
		}
	}
	if err != nil {
		out.Error = err.Error()
	}
	return out
}

// withFiles connects an editor that reads files.
func (ts *askable) withFiles() *testclient.Editor {
	ts.t.Helper()
	e := testclient.Connect(ts.t, ts.ready.WebSocket, ts.token.Reveal())
	e.InitializeWith(map[string]any{"fs": map[string]any{"readTextFile": true}})
	return e
}

func TestServerReadsAFileOfTheEditor(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	e := ts.withFiles()
	sid := e.NewSession(ts.work)
	client := ts.client(e, sid)
	var asked []string
	e.Serve("fs/read_text_file", func(params json.RawMessage) (any, *rpc.Error) {
		asked = append(asked, string(params))
		switch {
		case strings.Contains(string(params), "missing"):
			return nil, &rpc.Error{Code: -32002, Message: "no such file"}
		case strings.Contains(string(params), "number"):
			return map[string]any{"content": 7}, nil
		case strings.Contains(string(params), "nothing"):
			return nil, nil
		}
		return map[string]any{"content": "unsaved \U0001F600", "more": 1}, nil
	})
	for _, test := range []struct {
		read   clients.Read
		params string // behind the session's id
		want   read
	}{
		{clients.Read{Path: "/w/<a>.go"}, `"path":"/w/<a>.go"`, read{Text: "unsaved \U0001F600"}},
		{clients.Read{Path: "/w/a.go", Line: 2, Limit: 3}, `"path":"/w/a.go","line":2,"limit":3`, read{Text: "unsaved \U0001F600"}},
		{clients.Read{Path: "/w/missing"}, `"path":"/w/missing"`, read{Code: -32002, Error: "no such file"}},
		{clients.Read{Path: "/w/number"}, `"path":"/w/number"`, read{Error: "invalid"}},
		{clients.Read{Path: "/w/nothing"}, `"path":"/w/nothing"`, read{Error: "invalid"}},
	} {
		asked = nil
		got := outcome(client.ReadTextFile(t.Context(), test.read, 0))
		if want := fmt.Sprintf(`{"sessionId":%q,%s}`, sid, test.params); got != test.want || len(asked) != 1 || asked[0] != want {
			t.Errorf("got %+v for %v, want %+v for %s", got, asked, test.want, want)
		}
	}
}

// An editor writes a file; its result says nothing.
func TestServerWritesAFileOfTheEditor(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	e := ts.withFiles()
	sid := e.NewSession(ts.work)
	client := ts.client(e, sid)
	results := []any{nil, map[string]any{}, map[string]any{"_meta": map[string]any{"saved": true}}, &rpc.Error{Code: -32603, Message: "the file is read-only"}}
	var asked []wire.WriteTextFileParams
	e.Serve("fs/write_text_file", func(params json.RawMessage) (any, *rpc.Error) {
		result := results[len(asked)]
		asked = append(asked, wire.WriteTextFileParams{})
		if err := json.Unmarshal(params, &asked[len(asked)-1]); err != nil {
			t.Error(err)
		}
		if refused, ok := result.(*rpc.Error); ok {
			return nil, refused
		}
		return result, nil
	})
	at := e.Frames().Place(sid).Seq
	call[any](ts.testServer, e, "_strata/session/rename", sid, map[string]any{"title": "renamed"})
	file := clients.Write{Path: "/w/<a>.go", Content: "\ufeffa\r\n\x01\U0001F600"}
	for n, want := range []read{{}, {}, {}, {Code: -32603, Error: "the file is read-only"}} {
		got := outcome("", client.WriteTextFile(t.Context(), file, at+1))
		params := wire.WriteTextFileParams{SessionID: sid, Path: file.Path, Content: file.Content}
		if got != want || len(asked) != n+1 || asked[n] != params {
			t.Errorf("got %+v for %+v, want %+v for %+v", got, asked[n:], want, params)
		}
	}
	if seq := e.Frames()[:e.Asked("fs/write_text_file", 1).N].Place(sid).Seq; seq < at+1 {
		t.Errorf("the request after event %d follows event %d", at+1, seq)
	}
	expired, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	if got := outcome("", client.WriteTextFile(expired, clients.Write{Path: "/w/a.go"}, 0)); got.Error != "late" {
		t.Errorf("got %+v", got)
	}
}

// A request follows the event that it names.
func TestServerAsksAfterTheEvent(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	e := ts.withFiles()
	sid := e.NewSession(ts.work)
	client := ts.client(e, sid)
	e.Serve("fs/read_text_file", func(json.RawMessage) (any, *rpc.Error) { return map[string]any{"content": ""}, nil })
	for n := range 20 {
		if _, err := e.Prompt(sid, fmt.Sprintf("prompt %d", n)); err != nil {
			t.Fatal(err)
		}
		at := e.Frames().Place(sid).Seq
		call[any](ts.testServer, e, "_strata/session/rename", sid, map[string]any{"title": fmt.Sprint(n)})
		if _, err := client.ReadTextFile(t.Context(), clients.Read{Path: "/w/a.go"}, at+1); err != nil {
			t.Fatal(err)
		}
		request := e.Asked("fs/read_text_file", n+1)
		if seq := e.Frames()[:request.N].Place(sid).Seq; seq < at+1 {
			t.Errorf("the request after event %d follows event %d", at+1, seq)
		}
	}
}

// A request that nobody waits for any longer is cancelled, and its response dropped.
func TestServerGivesUpOnAnEditor(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	e := ts.withFiles()
	client := ts.client(e, e.NewSession(ts.work))
	ctx, cancel := context.WithCancelCause(t.Context())
	out := reads(ctx, client, "/w/a.go")
	asked := e.Asked("fs/read_text_file", 1)
	cancel(errors.New("the turn was cancelled"))
	if got := <-out; !strings.Contains(got.Error, "the turn was cancelled") {
		t.Errorf("got %+v", got)
	}
	want := `{"requestId":` + string(asked.ID) + `}`
	e.Expect(testclient.Condition{Name: "a cancellation of " + string(asked.ID), Met: func(fs testclient.Frames) bool {
		return slices.ContainsFunc(fs, func(f testclient.Frame) bool { return f.Method == "$/cancel_request" && string(f.Params) == want })
	}})

	out = reads(t.Context(), client, "/w/b.go")
	for _, response := range []testclient.Frame{asked, asked, e.Asked("fs/read_text_file", 2)} {
		if err := e.Respond(response, map[string]any{"content": response.Params}); err != nil {
			t.Fatal(err)
		}
	}
	if got := <-out; got.Error != "invalid" {
		t.Errorf("got %+v", got)
	}
	if n := ts.server.Metrics.strays.Get(); n != 2 {
		t.Errorf("%d responses without a request were counted, want 2", n)
	}
	expired, end := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer end()
	if got := <-reads(expired, client, "/w/c.go"); got.Error != "late" {
		t.Errorf("got %+v", got)
	}
}

// At most 64 requests wait for one editor.
func TestRequestsToAnEditorAreBounded(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	e := ts.withFiles()
	client := ts.client(e, e.NewSession(ts.work))
	var outs []<-chan read
	for range 64 {
		outs = append(outs, reads(t.Context(), client, "/w/a.go"))
	}
	e.Asked("fs/read_text_file", 64)
	if got := <-reads(t.Context(), client, "/w/a.go"); got.Error != "busy" {
		t.Errorf("got %+v", got)
	}
	for n := range 64 {
		if err := e.Respond(e.Asked("fs/read_text_file", n+1), map[string]any{"content": "a"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, out := range outs {
		if got := <-out; got.Text != "a" {
			t.Errorf("got %+v", got)
		}
	}
}

// An editor that leaves, or answers with 100 MB, ends its own requests and nobody else's.
func TestServerAsksAnEditorThatLeaves(t *testing.T) {
	t.Parallel()
	long(t)
	huge := `","result":{"content":"` + strings.Repeat("x", 100<<20) + `"}}`
	ends := map[string]func(e *testclient.Editor){
		"vanishes": func(e *testclient.Editor) { e.Vanish() },
		"hostile":  func(e *testclient.Editor) { _ = e.SendRaw(`{"jsonrpc":"2.0","id":"strata-1` + huge) },
	}
	for name, end := range ends {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := startAskable(t)
			e, other := ts.withFiles(), ts.withFiles()
			sid := e.NewSession(ts.work)
			if _, err := other.Attach(sid, testclient.Place{}); err != nil {
				t.Fatal(err)
			}
			client := ts.client(other, sid)
			out := reads(t.Context(), ts.client(e, sid), "/w/a.go")
			e.Asked("fs/read_text_file", 1)
			end(e)
			<-e.Done()
			if got := <-out; got.Error != "gone" && got.Error != "late" { // on a busy machine, the time limit may pass before
				t.Errorf("got %+v", got)
			}
			out = reads(t.Context(), client, "/w/a.go")
			if err := other.Respond(other.Asked("fs/read_text_file", 1), map[string]any{"content": "a"}); err != nil {
				t.Fatal(err)
			}
			if got := <-out; got.Text != "a" {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// permission is a question whether a file may be changed.
func permission() clients.Permission {
	d := approval.Decision{Always: approval.Rules{}}
	if rule, err := approval.ParseAllow("edit_file"); err == nil {
		d.Always = append(d.Always, rule)
	}
	return clients.Permission{
		Call: tools.Progress{
			CallID: "tc_1", Status: tools.Pending, Kind: tools.KindEdit, Input: json.RawMessage(`{"path":"main.go"}`),
			Description: tools.Description{Title: "Edit main.go", Locations: []tools.Location{{Path: "/home/me/project/main.go", Line: 3}}},
		},
		Options: d.Options(),
	}
}

func TestServerAsksForPermission(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	e := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
	e.InitializeWith(nil)
	sid := e.NewSession(ts.work)
	client := ts.client(e, sid)
	const call = `{"toolCallId":"tc_1","title":"Edit main.go","kind":"edit","status":"pending","rawInput":{"path":"main.go"},"locations":[{"path":"/home/me/project/main.go","line":3}]}`
	const options = `[{"optionId":"allow_once","name":"Allow once","kind":"allow_once"},` +
		`{"optionId":"allow_always","name":"Always allow edit_file in this session","kind":"allow_always"},` +
		`{"optionId":"reject_once","name":"Reject","kind":"reject_once"}]`
	params := fmt.Sprintf(`{"sessionId":%q,"toolCall":%s,"options":%s}`, sid, call, options)
	for n, test := range []struct {
		result string
		want   clients.Answer
		err    error
	}{
		{`{"outcome":{"outcome":"selected","optionId":"allow_once"}}`, clients.Answer{OptionID: "allow_once"}, nil},
		{`{"outcome":{"outcome":"selected","optionId":"reject_once"},"_meta":{"strata":{"message":" use b.go\n"}}}`, clients.Answer{OptionID: "reject_once", Words: "use b.go"}, nil},
		{`{"outcome":{"outcome":"cancelled"}}`, clients.Answer{}, clients.ErrDismissed},
		{`{"outcome":{"outcome":"allowed"}}`, clients.Answer{}, clients.ErrInvalid},
		{`null`, clients.Answer{}, clients.ErrInvalid},
	} {
		type answered struct {
			clients.Answer
			err error
		}
		out := make(chan answered, 1)
		go func() {
			answer, err := client.RequestPermission(t.Context(), permission(), 0)
			out <- answered{answer, err}
		}()
		asked := e.Asked("session/request_permission", n+1)
		if string(asked.Params) != params {
			t.Errorf("got %s, want %s", asked.Params, params)
		}
		if err := e.Respond(asked, json.RawMessage(test.result)); err != nil {
			t.Fatal(err)
		}
		if got := <-out; got.Answer != test.want || !errors.Is(got.err, test.err) {
			t.Errorf("%s: got %+v, want %+v, %v", test.result, got, test.want, test.err)
		}
	}
}

// The choice among the subscriptions of a session follows their editors' capabilities.
func TestCapabilitiesOfAnEditorsConnection(t *testing.T) {
	t.Parallel()
	ts := startAskable(t)
	for name, capabilities := range map[string]map[string]any{
		"[false false false true]":  nil,
		"[true false false true]":   {"fs": map[string]any{"readTextFile": true, "writeTextFile": false}, "terminal": nil},
		"[true true true true]":     {"fs": map[string]any{"readTextFile": true, "writeTextFile": true}, "terminal": true},
		"[false false true true]":   {"fs": nil, "terminal": true, "_meta": map[string]any{"other": 1}},
		"[false false false false]": {"_meta": map[string]any{"strata": map[string]any{}}},
		"[false false true false]":  {"_meta": map[string]any{"strata": map[string]any{"permission": false}}, "terminal": true},
		"[true false true true]":    {"_meta": map[string]any{"strata": map[string]any{"permission": true}}, "fs": map[string]any{"readTextFile": true}, "terminal": true},
	} {
		e := testclient.Connect(t, ts.ready.WebSocket, ts.token.Reveal())
		e.InitializeWith(capabilities)
		sid := e.NewSession(ts.work)
		sub := ts.client(e, sid)
		got := fmt.Sprint([]bool{sub.Can(clients.ReadFiles), sub.Can(clients.WriteFiles), sub.Can(clients.Terminals), sub.Can(clients.Permissions)})
		if got != name || sub.Can(0) {
			t.Errorf("%v: got %s", capabilities, got)
		}
		var choice clients.Choice
		choice.Add(sub)
		if want := sub.Can(clients.ReadFiles); (choice.For(clients.ReadFiles) != nil) != want {
			t.Errorf("%v: chosen %t", capabilities, !want)
		}
	}
}
