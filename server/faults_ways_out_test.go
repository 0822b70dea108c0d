package server

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"strata/internal/stuckfs"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// stock is an editor that knows ACP only.
type stock struct {
	*testclient.Editor
	ts          *testServer
	sid, folder string
}

func (s *stock) call(method string, params map[string]any) error {
	s.ts.t.Helper()
	if strings.HasPrefix(method, "_strata/") {
		s.ts.t.Fatalf("%s is not a method of ACP", method)
	}
	params["sessionId"] = s.sid
	return s.Call(method, params, nil)
}

// load opens the session again, in a folder.
func (s *stock) load(folder string) error {
	return s.call("session/load", map[string]any{"cwd": folder, "mcpServers": []any{}})
}

// reconnect loses the connection.
func (s *stock) reconnect() {
	s.Vanish()
	s.Editor = s.ts.editor()
}

// cancelled cancels a turn, which ends so.
func (s *stock) cancelled(turn *testclient.Turn) {
	s.ts.t.Helper()
	if err := s.Cancel(s.sid); err != nil {
		s.ts.t.Fatal(err)
	}
	if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
		s.ts.t.Errorf("the cancelled turn ended with %q, %v", reply.StopReason, err)
	}
}

// fails expects a prompt to fail.
func (s *stock) fails(text string) {
	s.ts.t.Helper()
	if reply, err := s.Prompt(s.sid, text); err == nil {
		s.ts.t.Errorf("a prompt ended with %q", reply.StopReason)
	}
}

// A session gets into each bad state, and out of it with ACP's methods alone: afterwards a prompt is answered, and its request
// contains what was said before.
func TestEveryBadStateHasAWayOut(t *testing.T) {
	never := make(chan struct{})
	t.Cleanup(func() { close(never) })
	hold := upstream.Hold(never)
	states := map[string]func(s *stock){
		"the provider never answers": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{hold}, Bare: true})
			turn := s.Start(s.sid, "silence")
			for len(s.ts.upstream.Requests()) < 2 {
				time.Sleep(time.Millisecond)
			}
			s.cancelled(turn)
		},
		"the provider stops in mid-reply": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("half"), hold}})
			turn := s.Start(s.sid, "half")
			s.Expect(testclient.Says(s.sid, testclient.AgentChunk, "half"))
			s.cancelled(turn)
		},
		"the provider refuses": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Status: 400})
			s.fails("refused")
		},
		"the provider is down for all attempts": func(s *stock) {
			for range 5 {
				s.ts.upstream.Push(upstream.Script{Status: 503})
			}
			s.fails("down")
		},
		"the provider cuts the connection": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("so far"), upstream.Cut()}})
			s.fails("cut")
		},
		"the provider sends no JSON": func(s *stock) {
			for range 5 { // attempts
				s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Raw("data: {no\n\n")}, Bare: true})
			}
			s.fails("nonsense")
		},
		"an empty reply": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{})
			if _, err := s.Prompt(s.sid, "nothing"); err != nil {
				s.ts.t.Error(err)
			}
		},
		"calls of tools that nobody runs": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: append(upstream.Call("c1", "look", "{}"), upstream.Call("c2", "look", `{"a":`)...)})
			s.Prompt(s.sid, "call")
		},
		"a second prompt during a turn": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("one"), hold}})
			turn := s.Start(s.sid, "one")
			s.Expect(testclient.Says(s.sid, testclient.AgentChunk, "one"))
			s.fails("two")
			s.cancelled(turn)
		},
		"the connection is lost in mid-turn": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("one"), hold}})
			s.Start(s.sid, "one")
			s.Expect(testclient.Says(s.sid, testclient.AgentChunk, "one"))
			s.reconnect()
			if err := s.load(s.ts.work); err != nil {
				s.ts.t.Fatal(err)
			}
			if err := s.Cancel(s.sid); err != nil {
				s.ts.t.Fatal(err)
			}
		},
		"closed in mid-turn": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("one"), hold}})
			turn := s.Start(s.sid, "one")
			s.Expect(testclient.Says(s.sid, testclient.AgentChunk, "one"))
			if err := s.call("session/close", map[string]any{}); err != nil {
				s.ts.t.Error(err)
			}
			if reply, err := turn.Wait(); err != nil || reply.StopReason != "cancelled" {
				s.ts.t.Errorf("ended with %q, %v", reply.StopReason, err)
			}
		},
		"a prompt larger than the window": func(s *stock) {
			s.fails(strings.Repeat("far too much ", 80_000))
		},
		"an unknown model": func(s *stock) {
			if err := s.call("session/set_config_option", map[string]any{"configId": "model", "value": "gone/model"}); err == nil {
				s.ts.t.Error("chosen")
			}
		},
		"a folder that is gone": func(s *stock) {
			if err := os.RemoveAll(s.ts.work); err != nil {
				s.ts.t.Fatal(err)
			}
			s.Prompt(s.sid, "without the folder")
			if err := os.Mkdir(s.ts.work, 0o700); err != nil {
				s.ts.t.Fatal(err)
			}
		},
		"a restart of the server in mid-turn": func(s *stock) {
			s.ts.upstream.Push(upstream.Script{Steps: []upstream.Step{upstream.Text("one"), hold}})
			s.Start(s.sid, "one")
			s.Expect(testclient.Says(s.sid, testclient.AgentChunk, "one"))
			s.ts.restart()
			s.Editor = s.ts.editor()
		},
		"a file that never comes": func(s *stock) {
			disk := stuckfs.Mount(s.ts.t)
			s.folder = disk.Folder
			s.sid = s.NewSession(s.folder)
			if _, err := s.Prompt(s.sid, "This was said before."); err != nil {
				s.ts.t.Fatal(err)
			}
			blocks := []any{
				map[string]any{"type": "text", "text": "look"},
				map[string]any{"type": "resource_link", "name": stuckfs.Stuck, "uri": "file://" + filepath.ToSlash(disk.Folder) + "/" + stuckfs.Stuck},
			}
			turn := s.StartWith(s.sid, blocks, "")
			for disk.Unanswered() == 0 {
				time.Sleep(time.Millisecond)
			}
			s.cancelled(turn)
		},
	}
	for name, enter := range states {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ts := startServer(t)
			s := &stock{Editor: ts.editor(), ts: ts, folder: ts.work}
			s.sid = s.NewSession(ts.work)
			if _, err := s.Prompt(s.sid, "This was said before."); err != nil {
				t.Fatal(err)
			}
			enter(s)
			if err := s.load(s.folder); err != nil {
				t.Fatalf("opened again: %v", err)
			}
			reply, err := s.Prompt(s.sid, "And this afterwards.")
			if err != nil || reply.StopReason != "end_turn" || !strings.Contains(reply.Said(), "And this afterwards.") {
				t.Fatalf("afterwards a prompt ended with %q %q, %v", reply.StopReason, reply.Said(), err)
			}
			if sent, err := json.Marshal(ts.upstream.Last().Messages); err != nil || !strings.Contains(string(sent), "This was said before.") {
				t.Errorf("the request is %s, %v", sent, err)
			}
		})
	}
}
