package crash

import (
	"context"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
	"strata/rpc"
)

// stdio starts `strata stdio` in a home and returns its editor, initialized. The process ends with the test.
func stdio(t *testing.T, home *binary.Home, env ...string) *testclient.Editor {
	t.Helper()
	cmd := home.Command(context.Background(), "stdio")
	cmd.Env = append(cmd.Env, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	e := testclient.New(t, rpc.NewLineStream(out, in, in, rpc.Limits{FrameBytes: 64 << 20})) // its Close ends the process
	t.Cleanup(func() {                                                                       // runs first: the output must be read to its end before Wait
		e.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("strata stdio: %v\n%s", err, &log)
		}
		if t.Failed() {
			t.Logf("strata stdio wrote:\n%s", &log)
		}
		if log := log.String(); strings.Contains(log, "sk-secret") || strings.Contains(log, "DATA RACE") {
			t.Errorf("strata stdio wrote:\n%s", log)
		}
	})
	e.Initialize()
	return e
}

// stopsDetached stops the server that a bridge has started, when the test has ended and its editors have left.
func stopsDetached(t *testing.T, home *binary.Home) {
	t.Cleanup(func() {
		if out, err := home.Command(context.Background(), "stop").CombinedOutput(); err != nil {
			t.Errorf("strata stop: %v\n%s", err, out)
		}
	})
}

// The server is killed during a turn: the prompt gets its stored end, once, and everything continues in the server that
// the bridge starts.
func TestF36TheServerIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	stopsDetached(t, w.Home)
	e := stdio(t, w.Home)
	sid := e.NewSession(w.Home.Project)
	w.tell(e, &ask{session: sid, name: "before", parts: 3})
	running := &ask{session: sid, name: "running", parts: 5, stop: 3}
	turn := e.Start(sid, running.text())
	e.Expect(testclient.Says(sid, testclient.AgentChunk, running.started()))
	beginningSaved(t, w.Database, sid)
	w.Kill()

	_, err := turn.Wait()
	if f := wantFault(t, err, codeProvider); !strings.Contains(f.Message, "the server ended before the reply was complete") {
		t.Errorf("the prompt ended with %v", f)
	}
	if n := w.teller.times(running); n != 1 {
		t.Errorf("the prompt was sent to the provider %d times", n)
	}
	w.tell(e, &ask{session: sid, name: "afterwards", parts: 3})
	transcript := w.audit(e, sid)[sid]
	if len(transcript) != 6 || transcript[3].Status != "interrupted" || !strings.HasPrefix(running.started(), transcript[3].Text) {
		t.Errorf("transcript %v", transcript)
	}
}

// A prompt that the server has not seen when it is killed is sent to the next one.
func TestF36APromptWhileThereIsNoServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	stopsDetached(t, w.Home)
	e := stdio(t, w.Home)
	sid := e.NewSession(w.Home.Project)
	w.Kill()
	a := &ask{session: sid, name: "unseen", parts: 3}
	if reply, err := e.Prompt(sid, a.text()); err != nil || reply.Said() != a.story() {
		t.Errorf("ended with %q, %v", reply.Said(), err)
	}
	if n := w.teller.times(a); n != 1 {
		t.Errorf("the prompt was sent to the provider %d times", n)
	}
}

// `strata stop` ends the server although an editor is open; the next prompt starts another one.
func TestF36TheServerIsStopped(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	stopsDetached(t, w.Home)
	e := stdio(t, w.Home)
	sid := e.NewSession(w.Home.Project)
	running := &ask{session: sid, name: "running", parts: 5, stop: 3}
	turn := e.Start(sid, running.text())
	e.Expect(testclient.Says(sid, testclient.AgentChunk, running.started()))
	runs(t, w.Home, "stop")
	within(t, "the end of the server", w.Done())
	if reply, err := turn.Wait(); err == nil && reply.StopReason != "cancelled" {
		t.Errorf("the prompt ended with %q", reply.StopReason)
	}
	if n := w.teller.times(running); n != 1 {
		t.Errorf("the prompt was sent to the provider %d times", n)
	}
	w.tell(e, &ask{session: sid, name: "afterwards", parts: 3})
	if transcript := w.audit(e, sid)[sid]; len(transcript) != 4 || transcript[1].Text != running.started() {
		t.Errorf("transcript %v", transcript)
	}
}

// A server that is started after the previous one has ended is used, as after an update.
func TestF36TheServerIsRestarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e, other := stdio(t, w.Home), stdio(t, w.Home)
	first, second := e.NewSession(w.Home.Project), other.NewSession(w.Home.Project)
	for round := range 3 {
		w.Stop()
		w.Restart(binary.Options{})
		name := string(rune('a' + round))
		w.tell(e, &ask{session: first, name: "first-" + name, parts: 3})
		w.tell(other, &ask{session: second, name: "second-" + name, parts: 3})
	}
	if info, err := w.Home.ServerFile(); err != nil || info.PID != w.PID {
		t.Errorf("the server is %v, %v, want process %d", info, err, w.PID)
	}
	w.audit(e, first, second)
}

// A prompt of 17 MiB and lines that are no messages end nothing.
func TestF30LargeAndBrokenLines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "", binary.Options{})
	e := stdio(t, w.Home)
	sid := e.NewSession(w.Home.Project)
	_, err := e.Prompt(sid, strings.Repeat("x", 17<<20))
	if f := wantFault(t, err, codeInvalidRequest); !strings.Contains(f.Message, "16777216") {
		t.Errorf("the prompt ended with %v", f)
	}
	for _, line := range []string{"not JSON", strings.Repeat("y", 17<<20), "\x00"} {
		if err := e.SendRaw(line); err != nil {
			t.Fatal(err)
		}
	}
	w.tell(e, &ask{session: sid, name: "afterwards", parts: 3})
}

// The limit is that of the server, for every client.
func TestF30AConfiguredLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "limits: {frame_bytes: 100000}\n", binary.Options{})
	large := strings.Repeat("x", 200_000)
	e := stdio(t, w.Home)
	sid := e.NewSession(w.Home.Project)
	_, err := e.Prompt(sid, large)
	wantFault(t, err, codeInvalidRequest)
	w.tell(e, &ask{session: sid, name: "afterwards", parts: 3})

	cmd := w.Home.Command(t.Context(), "ask", "-")
	cmd.Stdin = strings.NewReader(large)
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "the request exceeds the server's limit: ") || len(out) > 1000 {
		t.Errorf("strata ask: %v\n%.1000s", err, out)
	}
	if list := runs(t, w.Home, "sessions", "ls"); strings.Count(list, "sess_") != 1 {
		t.Errorf("a refused prompt leaves a session:\n%s", list)
	}
}

// keyed is a configuration whose provider "mine" needs a key.
func keyed(up *upstream.Server) string {
	return "listen: 127.0.0.1:0\nlog: {level: debug}\nmodel: mine/test\nproviders:\n  mine: {kind: openai, base_url: \"" + up.OpenAIURL() + "\", api_key_env: MINE_KEY}\n"
}

const secretKey = "sk-secret-0123456789abcdef"

// The key of the editor's environment reaches a server that was started without it, and a stored one as well.
func TestF37KeysOfTheEditorAndOfLogin(t *testing.T) {
	t.Parallel()
	up := upstream.Start(upstream.Options{Key: secretKey})
	t.Cleanup(up.Close)
	s := binary.Start(t, binary.NewHome(t, keyed(up)), binary.Options{})
	without := stdio(t, s.Home)
	sid := without.NewSession(s.Home.Project)
	_, err := without.Prompt(sid, "without a key")
	if f := wantFault(t, err, codeProvider); !strings.Contains(f.Message, "strata login mine") {
		t.Errorf("without a key: %v", f)
	}

	login := s.Home.Command(t.Context(), "login", "mine")
	login.Stdin = strings.NewReader(secretKey + "\n")
	if out, err := login.CombinedOutput(); err != nil || strings.Contains(string(out), secretKey) {
		t.Fatalf("strata login: %v\n%s", err, out)
	}
	replies(t, without, sid)
	runs(t, s.Home, "logout", "mine")
	_, err = without.Prompt(sid, "without a key again")
	wantFault(t, err, codeProvider)

	with := stdio(t, s.Home, "MINE_KEY="+secretKey)
	other := with.NewSession(s.Home.Project)
	with.Expect(testclient.Sees(other, "notice"))
	replies(t, with, other)
	replies(t, without, sid) // the server has it for all
	s.Stop()
	if strings.Contains(s.Log(), secretKey) {
		t.Errorf("the server's log contains the key:\n%s", s.Log())
	}
}

// `strata ask` hands its key over, too.
func TestF37KeyOfAsk(t *testing.T) {
	t.Parallel()
	up := upstream.Start(upstream.Options{Key: secretKey})
	t.Cleanup(up.Close)
	s := binary.Start(t, binary.NewHome(t, keyed(up)), binary.Options{})
	cmd := s.Home.Command(t.Context(), "ask", "hello")
	cmd.Env = append(cmd.Env, "MINE_KEY="+secretKey)
	out, err := cmd.CombinedOutput()
	if err != nil || strings.Contains(string(out), secretKey) || !strings.Contains(string(out), "MINE_KEY") {
		t.Errorf("strata ask: %v\n%s", err, out)
	}
}

// replies expects that a prompt gets a whole reply.
func replies(t *testing.T, e *testclient.Editor, session string) {
	t.Helper()
	reply, err := e.Prompt(session, "hello")
	if err != nil || reply.StopReason != "end_turn" {
		t.Errorf("ended with %q, %v", reply.StopReason, err)
	}
}
