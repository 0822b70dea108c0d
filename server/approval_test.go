package server

import (
	"encoding/json"
	"strings"
	"testing"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
)

// changing is declaring for a tool that can change something.
func changing(name string) map[string]any {
	meta := declaring(name)
	delete(meta["strata"].(map[string]any)["tools"].([]any)[0].(map[string]any), "readOnly")
	return meta
}

func selected(option string) map[string]any {
	return map[string]any{"outcome": map[string]any{"outcome": "selected", "optionId": option}}
}

// startDeploying starts a server with a session to which two editors are subscribed. The first one has declared a tool, deploy,
// that can change something.
func startDeploying(t *testing.T) (ts *askable, e, other *testclient.Editor, sid string) {
	t.Helper()
	ts = startActing(t)
	e, other = ts.editor(), ts.editor()
	sid, err := newWith(ts, e, changing("deploy"))
	if err != nil {
		t.Fatal(err)
	}
	load(t, ts, other, sid)
	return ts, e, other, sid
}

func load(t *testing.T, ts *askable, e *testclient.Editor, sid string) {
	t.Helper()
	if err := e.Call("session/load", map[string]any{"sessionId": sid, "cwd": ts.work, "mcpServers": []any{}}, nil); err != nil {
		t.Fatal(err)
	}
}

// Every client of a session is asked whether a call may run that can change something, after the call was announced. The first
// answer counts, and the request to the others is cancelled.
func TestACallThatChangesSomethingIsAskedAbout(t *testing.T) {
	t.Parallel()
	_, e, other, sid := startDeploying(t)
	turn := prompting(e, sid, `call deploy {"n": 1}`, nil)
	asked, also := e.Asked(wire.MethodRequestPermission, 1), other.Asked(wire.MethodRequestPermission, 1)
	var params struct {
		SessionID string `json:"sessionId"`
		ToolCall  struct {
			ID string `json:"toolCallId"`
		} `json:"toolCall"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	}
	if err := json.Unmarshal(asked.Params, &params); err != nil {
		t.Fatal(err)
	}
	if params.SessionID != sid || !strings.HasPrefix(params.ToolCall.ID, "tc_") || len(params.Options) != 3 {
		t.Errorf("asked with %s", asked.Params)
	}
	if err := other.Respond(also, selected("allow_once")); err != nil {
		t.Fatal(err)
	}
	call := e.Asked(wire.MethodCallTool, 1)
	e.Expect(testclient.Condition{Name: "the request is cancelled", Met: func(all testclient.Frames) bool {
		for _, f := range all {
			if f.Method == rpc.MethodCancel && strings.Contains(string(f.Params), strings.Trim(string(asked.ID), `"`)) {
				return true
			}
		}
		return false
	}})
	if err := e.Respond(call, said("deployed")); err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, failed := lastResult(t, e, sid); got != "deployed" || failed {
		t.Errorf("the result is %q, failed: %t", got, failed)
	}
}

// The editor that is asked leaves and comes back: it is asked again. A rejection brings the user's words to the model.
func TestAnEditorThatComesBackIsAskedAgain(t *testing.T) {
	t.Parallel()
	ts, e, other, sid := startDeploying(t)
	turn := prompting(e, sid, `call deploy {"n": 1}`, nil)
	other.Asked(wire.MethodRequestPermission, 1)
	e.Asked(wire.MethodRequestPermission, 1)
	other.Close()
	again := ts.editor()
	load(t, ts, again, sid)
	answer := selected("reject_once")
	answer["_meta"] = map[string]any{"strata": map[string]any{"message": "Not on Fridays."}}
	if err := again.Respond(again.Asked(wire.MethodRequestPermission, 1), answer); err != nil {
		t.Fatal(err)
	}
	if err := turn.Wait(nil); err != nil {
		t.Fatal(err)
	}
	if got, failed := lastResult(t, e, sid); !strings.Contains(got, "Not on Fridays.") || !failed {
		t.Errorf("the result is %q, failed: %t", got, failed)
	}
}
