package mcpcheck

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/internal/testclient"
)

// overHTTP starts the shop in the test's process and returns its address.
func overHTTP(t *testing.T) string {
	t.Helper()
	s := newShop()
	server := httptest.NewServer(sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s.Server }, nil))
	t.Cleanup(func() {
		for session := range s.Sessions() {
			_ = session.Close()
		}
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// A model uses a server in each way in which one can be reached. Only one that the user trusts is used without asking.
func TestTheModelUsesAServer(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		config func(t *testing.T) string
		named  func(t *testing.T) []any
		asks   bool
	}{
		"named":              {named: func(t *testing.T) []any { return []any{named(t, "shop", orderly)} }, asks: true},
		"configured":         {config: func(t *testing.T) string { return configured(t, "shop", orderly) }, asks: true},
		"configured trusted": {config: func(t *testing.T) string { return configured(t, "shop", orderly) + trusted }},
		"named over HTTP": {named: func(t *testing.T) []any {
			return []any{map[string]any{"type": "http", "name": "shop", "url": overHTTP(t), "headers": []any{}}}
		}, asks: true},
		"configured over HTTP": {config: func(t *testing.T) string {
			return "mcp_servers:\n  shop:\n    url: " + overHTTP(t) + "\n" + trusted
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config, servers := "", []any{}
			if way.config != nil {
				config = way.config(t)
			}
			if way.named != nil {
				servers = way.named(t)
			}
			w := newWorld(t, config)
			e := w.editor()
			session := e.open("session/new", "", w.Home.Project, servers...)
			e.useful(w, session)
			asked := 0
			if way.asks {
				asked = 3 // where, count, paint
			}
			if got := int(e.asked.Load()); got != asked {
				t.Errorf("%d questions, want %d", got, asked)
			}
			e.grows(w, session)
			w.Stop()
		})
	}
}

// useful checks results, reports and images of the tools.
func (e *editor) useful(w *world, session string) {
	e.t.Helper()
	if p := e.finds(session, "shop"); p.PID == 0 {
		e.t.Errorf("the place is %+v", p)
	}
	gate := w.gate("counted")
	turn := e.Start(session, fmt.Sprintf(`call shop__count {"steps": 3, "file": %q}`, gate))
	e.Expect(testclient.Condition{Name: "the newest report", Met: func(fs testclient.Frames) bool {
		calls := callsIn(e.t, fs.Of(session))
		shown := calls[len(calls)-1].Shown
		return len(shown) > 0 && strings.HasSuffix(shown[len(shown)-1], "step 3\n")
	}})
	w.open(gate)
	if calls := e.finishes(turn); calls[0].Status != "completed" || calls[0].Text != "it is there" {
		e.t.Errorf("the calls are %v", calls)
	}
	painted := e.uses(session, "shop__paint", "{}")
	if painted.Status != "completed" || painted.Image != base64.StdEncoding.EncodeToString(picture) {
		e.t.Errorf("the call is %s, its image %q", painted, painted.Image)
	}
}

// grows checks that a tool which a server adds in the middle of a turn is there in the next one, not before.
func (e *editor) grows(w *world, session string) {
	e.t.Helper()
	gate := w.gate("grown")
	turn := e.Start(session, fmt.Sprintf("call shop__grow {}\n---\ncall shop__await {\"file\": %q}\n---\ncall shop__grown {}", gate))
	eventually(e.t, "the new tool", func() bool {
		tools := e.list()[0].Tools
		return slices.ContainsFunc(tools, func(t struct{ Name string }) bool { return t.Name == "grown" })
	})
	w.open(gate)
	calls := e.finishes(turn)
	if len(calls) != 3 || calls[1].Text != "it is there" || calls[2].Status != "failed" || !strings.Contains(calls[2].Text, `there is no tool "shop__grown"`) {
		e.t.Errorf("the calls are %v", calls)
	}
	if c := e.uses(session, "shop__grown", "{}"); c.Status != "completed" || c.Image == "" {
		e.t.Errorf("in the next turn: %s", c)
	}
}

// A server that dies is a failed call and a notice, and runs again in a later turn.
func TestAServerDies(t *testing.T) {
	t.Parallel()
	for _, when := range []string{"in a call", "between turns"} {
		t.Run(when, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, configured(t, "shop", orderly)+trusted)
			e := w.editor()
			session := e.open("session/new", "", w.Home.Project)
			first := e.finds(session, "shop")
			reason := "exit code 7"
			if when == "in a call" {
				c := e.uses(session, "shop__die", "{}")
				if want := "the MCP server ended before the call had a result"; c.Status != "failed" || !strings.Contains(c.Text, want) {
					t.Errorf("the call is %s", c)
				}
			} else {
				reason = "the program "
				kill(t, first.PID)
			}
			e.Expect(testclient.Sees(session, "notice"))
			if notice := string(e.Frames().Of(session).Kind("notice")[0].Params); !strings.Contains(notice, "MCP server shop: failed: ") || !strings.Contains(notice, reason) {
				t.Errorf("the notice is %s", notice)
			}
			eventually(t, "the server to run again", func() bool {
				c := e.uses(session, "shop__where", "{}")
				if c.Status == "failed" && !strings.Contains(c.Text, "shop is not running") {
					t.Fatalf("the call is %s", c)
				}
				return c.Status == "completed"
			})
			if again := e.finds(session, "shop"); again.PID == first.PID {
				t.Errorf("the process is %d as before", again.PID)
			}
			w.Stop()
		})
	}
}

func kill(t *testing.T, pid int) {
	t.Helper()
	p, err := os.FindProcess(pid)
	must(t, err)
	must(t, p.Kill())
}
