package server

import (
	"strings"
	"testing"

	"strata/internal/testclient"
)

// Every client that does not know of a new phase from its response receives an update.
func TestAChangeOfModeIsTold(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	other := ts.editor()
	if err := other.Call("session/resume", map[string]any{"sessionId": sid, "cwd": ts.work}, nil); err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		name, method string
		params       map[string]any
		own          bool // the client that makes the change receives the update too
		mode         string
	}{
		{"a profile with phases", "session/set_config_option", map[string]any{"configId": "profile", "value": "phased"}, true, "planning"},
		{"another phase", "session/set_mode", map[string]any{"modeId": "interface"}, false, "interface"},
		{"the same once more", "session/set_mode", map[string]any{"modeId": "interface"}, false, ""},
		{"by the option", "session/set_config_option", map[string]any{"configId": "mode", "value": "testing"}, true, "testing"},
		{"an option that is none of it", "session/set_config_option", map[string]any{"configId": "compaction", "value": "topic"}, false, ""},
		{"a profile without phases", "session/set_config_option", map[string]any{"configId": "profile", "value": "chat"}, true, "ask"},
		{"an approval as a mode", "session/set_mode", map[string]any{"modeId": "edits"}, false, "edits"},
		{"by its option", "session/set_config_option", map[string]any{"configId": "approval", "value": "auto"}, true, "auto"},
		{"phases again", "session/set_config_option", map[string]any{"configId": "profile", "value": "phased"}, true, "planning"},
		{"an approval behind phases", "session/set_config_option", map[string]any{"configId": "approval", "value": "ask"}, false, ""},
	}
	var own, others []string
	for _, s := range steps {
		call[map[string]any](ts, e, s.method, sid, s.params)
		if s.mode == "" {
			continue
		}
		others = append(others, s.mode)
		if s.own {
			own = append(own, s.mode)
		}
	}
	call[map[string]any](ts, e, "_strata/session/rename", sid, map[string]any{"title": "done"})
	for client, want := range map[*testclient.Editor][]string{e: own, other: others} {
		client.Expect(testclient.Sees(sid, "session_info_update"))
		var got []string
		for _, f := range client.Frames().Of(sid).Kind("current_mode_update") {
			_, rest, _ := strings.Cut(string(f.Params), `"currentModeId":"`)
			mode, _, _ := strings.Cut(rest, `"`)
			got = append(got, mode)
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("told: %v, want %v", got, want)
		}
	}
	if n := len(e.Frames().Of(sid).Kind("config_option_update")); n != 3 {
		t.Errorf("the client that sets the mode received the options %d times", n)
	}
}
