package mcp

import (
	"testing"

	"strata/session/servers"
)

func TestAServerStartsAndItsToolsCanBeCalled(t *testing.T) {
	u := take(t, hostOf(t, nil), actor(t, "in-order"), servers.Place{})
	state := u.ready()
	equal(t, "tools", state.Tools, []servers.Tool{{Name: "echo", Description: "does echo", Schema: []byte(`{"type":"object"}`)}})
	text, err := u.call("echo", members{"text": "hello"})
	must(t, err)
	equal(t, "result", text, "hello")
}
