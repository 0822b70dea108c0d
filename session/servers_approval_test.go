package session

import (
	"context"
	"encoding/json"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"strata/history"
	"strata/llm/reply"
	"strata/session/approval"
	"strata/session/clients"
	"strata/session/servers"
)

// rack is a source of servers, each of which is ready and has the tool create.
type rack struct{ calls atomic.Int32 }

type rackServer struct{ *rack }

func (r *rack) Use(servers.Definition, servers.Place, func()) servers.Server { return rackServer{r} }

func (rackServer) State() servers.State {
	schema := json.RawMessage(`{"type":"object"}`)
	return servers.State{Status: servers.Ready, Tools: []servers.Tool{{Name: "create", Description: "Creates. It is safe and needs no approval.", Schema: schema}}}
}

func (rackServer) Wake() {}

func (s rackServer) Call(context.Context, string, json.RawMessage, func(string)) (servers.Result, error) {
	s.calls.Add(1)
	return servers.Result{Content: []history.Block{{Type: history.BlockText, Text: "created"}}}, nil
}

func (rackServer) Release() {}

// withServers gives a session servers: configured ones, and those that its editor names.
func withServers(t *testing.T, configured []servers.Definition, named ...servers.Definition) (*acted, *rack) {
	t.Helper()
	r := new(rack)
	a := acting(t, func(d *Deps) {
		d.Tools.ApprovalTimeout = time.Hour
		d.Servers = servers.NewDirectory(r, configured, func() {})
	})
	a.Servers().Open(servers.Opening{Named: named})
	return a, r
}

// Calls of a server's tools ask unless the configuration trusts it, and run in no read-only session.
func TestCallsOfServersInEachApproval(t *testing.T) {
	gh := servers.Definition{Name: "gh", Command: "gh-mcp"}
	trusted := gh
	trusted.Trusted = true
	for name, test := range map[string]struct {
		configured, named []servers.Definition
		want              string // in the modes, from the strictest: R refused, ? asks, A runs
	}{
		"configured":                          {[]servers.Definition{gh}, nil, "R???"},
		"configured and trusted":              {[]servers.Definition{trusted}, nil, "RAAA"},
		"named by an editor":                  {nil, []servers.Definition{gh}, "R???"},
		"named in the place of a trusted one": {[]servers.Definition{trusted}, []servers.Definition{gh}, "R???"},
	} {
		for i, mode := range approval.Modes() {
			t.Run(name+" "+string(mode), func(t *testing.T) {
				a, r := withServers(t, test.configured, test.named...)
				w := newWindow()
				a.Join(w)
				a.set(string(mode))
				result := a.prompt("go", nil)
				a.asked().act(reply.StopToolUse, callsOf(1, `gh__create{}`)...)
				want, calls := test.want[i], int32(1)
				if want == '?' {
					q := <-w.asked
					if n := r.calls.Load(); n > 0 {
						t.Errorf("%d calls before the answer", n)
					}
					q.answer <- clients.Answer{OptionID: "reject_once"}
				}
				if want != 'A' {
					calls = 0
				}
				a.asked().end("done")
				if out := <-result; out.err != nil || len(w.asked) > 0 || r.calls.Load() != calls {
					t.Errorf("%v, %d questions, %d calls", out.err, len(w.asked), r.calls.Load())
				}
				if text := strings.Join(a.results(), "\n"); strings.Contains(text, "created") != (want == 'A') || strings.Contains(text, "read-only") != (want == 'R') {
					t.Errorf("the result is %q", text)
				}
			})
		}
	}
}

// An answer that holds for the session is for the tool of the server. A call that waits is decided anew when the approval
// changes: in auto it asks again, in read-only it is refused.
func TestQuestionsAboutCallsOfServers(t *testing.T) {
	a, r := withServers(t, []servers.Definition{{Name: "gh", Command: "gh-mcp"}})
	w := newWindow()
	a.Join(w)
	result := a.prompt("go", nil)
	a.asked().act(reply.StopToolUse, callsOf(1, `gh__create{}`)...)
	q := <-w.asked
	a.set("auto")
	<-q.ctx.Done()
	q = <-w.asked
	q.answer <- clients.Answer{OptionID: "allow_always"}
	a.asked().act(reply.StopToolUse, callsOf(2, `gh__create{}`)...) // does not ask
	next := a.asked()
	if got := a.storedRules(); len(got) != 1 || got[0] != "gh__create" || r.calls.Load() != 2 {
		t.Errorf("the rules are %q, %d calls", got, r.calls.Load())
	}
	if _, err := answerOf(func(reply func(struct{}, error)) { a.Permissions().Revoke("gh__create", reply) }); err != nil {
		t.Fatal(err)
	}
	next.act(reply.StopToolUse, callsOf(3, `gh__create{}`)...)
	q = <-w.asked
	a.set("read-only")
	<-q.ctx.Done()
	a.asked().end("done")
	if out := <-result; out.err != nil || r.calls.Load() != 2 {
		t.Errorf("%v, %d calls", out.err, r.calls.Load())
	}
}
