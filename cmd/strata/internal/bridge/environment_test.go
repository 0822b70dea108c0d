package bridge

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
)

// takesEnvironments is the result of initialize of a server that takes environments, with its limit of a frame in bytes.
func takesEnvironments(limit int) string {
	return fmt.Sprintf(`{"protocolVersion":1,"agentCapabilities":{"_meta":{"strata":{"methods":["_strata/environment/offer"],"limits":{"frameBytes":%d}}}}}`, limit)
}

// environmentOf returns the environment in an offer.
func environmentOf(t *testing.T, f frame) map[string]string {
	t.Helper()
	var params struct{ Env map[string]string }
	if err := json.Unmarshal(f.Params, &params); err != nil {
		t.Fatal(err)
	}
	return params.Env
}

// Each server gets the environment before it gets a request for a session, also if the editor does not wait for the
// response to initialize.
func TestTheEnvironmentIsHandedOver(t *testing.T) {
	s := newStage(t, map[string]string{
		"PATH": "/editor/bin", "EMPTY": "", "STRATA_LISTEN": "127.0.0.1:0", "OPENAI_API_KEY": "sk-known-here", "MINE_KEY": "sk-known-there",
		"LATIN": "\xe4",
	})
	const list = `{"providers":[{"name":"mine","keyEnv":"MINE_KEY","key":"env"},{"name":"offline","key":"not_needed"}]}`
	want := map[string]string{"PATH": "/editor/bin", "EMPTY": "", "HOME": s.env["HOME"], "XDG_STATE_HOME": s.env["HOME"]}
	server := s.server()
	s.editor.sends(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"/work","mcpServers":[]}}`)
	server.responds(server.wants("initialize"), takesEnvironments(10_000))
	server.responds(server.wants("_strata/providers/list"), list)
	f := server.wants("_strata/environment/offer")
	if got := environmentOf(t, f); !maps.Equal(got, want) {
		t.Errorf("offered %v, want %v", got, want)
	}
	server.responds(f, `{}`)
	if f := s.editor.wants(""); string(f.ID) != "1" {
		t.Errorf("the editor got %s", f.raw)
	}
	server.responds(server.wants("session/new"), `{"sessionId":"sess_1"}`)
	s.editor.wants("")

	// So does the next one, which refuses it and is used all the same.
	server.stream.Close(closeNow, "")
	server = s.server()
	server.responds(server.wants("initialize"), takesEnvironments(10_000))
	server.responds(server.wants("_strata/providers/list"), list)
	f = server.wants("_strata/environment/offer")
	if got := environmentOf(t, f); !maps.Equal(got, want) {
		t.Errorf("offered %v, want %v", got, want)
	}
	server.sends(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"not this one"}}`, f.ID)
	server.responds(server.wants("session/resume"), `{}`)

	// A server whose messages are too small for it does without.
	server.stream.Close(closeNow, "")
	server = s.server()
	server.responds(server.wants("initialize"), takesEnvironments(300))
	server.responds(server.wants("_strata/providers/list"), list)
	server.responds(server.wants("session/resume"), `{}`)
	s.editor.sends(`{"jsonrpc":"2.0","id":3,"method":"session/list","params":{}}`)
	server.responds(server.wants("session/list"), `{}`)
	s.editor.wants("")

	log := s.log.String()
	for _, want := range []string{"environment: _strata/environment/offer: not this one", "too large for the server's limit of 300 bytes"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q: %s", want, log)
		}
	}
	if strings.Contains(log, "/editor/bin") {
		t.Errorf("the log has a value: %s", log)
	}
}

// An initialize that a server refuses, or that is lost with its connection, does not hold the editor's requests for ever.
func TestRequestsBehindAFailedInitializeAreSent(t *testing.T) {
	s := newStage(t, nil)
	server := s.server()
	s.editor.sends(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`)
	s.editor.sends(`{"jsonrpc":"2.0","id":2,"method":"session/list","params":{}}`)
	server.wants("initialize")
	server.stream.Close(closeNow, "")
	server = s.server()
	f := server.wants("initialize") // the editor's, again
	server.sends(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"no"}}`, f.ID)
	if f := s.editor.wants(""); string(f.ID) != "1" || f.Error == nil {
		t.Errorf("the editor got %s", f.raw)
	}
	server.responds(server.wants("session/list"), `{}`)
	if f := s.editor.wants(""); string(f.ID) != "2" {
		t.Errorf("the editor got %s", f.raw)
	}
}
