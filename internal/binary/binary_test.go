package binary

import (
	"net/http"
	"strings"
	"testing"

	"strata/internal/failpoint"
)

func TestMain(m *testing.M) { Main(m) }

const offline = "listen: 127.0.0.1:0\n"

func TestServerLives(t *testing.T) {
	s := Start(t, NewHome(t, offline), Options{})
	first := s.Info
	if first.Token == "" || first.Database == "" || !strings.HasPrefix(first.WebSocket(), "ws://127.0.0.1:") {
		t.Errorf("server.json contains %+v", first)
	}
	answers(t, s)

	s.Kill()
	s.Restart(Options{})
	if s.PID == first.PID || s.Database != first.Database || s.Token != first.Token {
		t.Errorf("after a crash server.json contains %+v, before %+v", s.Info, first)
	}
	answers(t, s)

	s.Stop()
	if _, err := s.Home.ServerFile(); err == nil {
		t.Error("server.json exists after the server was stopped")
	}
}

func TestBadConfigurationIsTold(t *testing.T) {
	home := NewHome(t, "no_such_key: 1\n")
	out, err := home.Command(t.Context(), "serve").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no_such_key") {
		t.Errorf("strata serve = %v, and wrote %q", err, out)
	}
}

func TestEnvironmentIsOnlyTheHomes(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "secret")
	t.Setenv(failpoint.Env, "commit.before")
	for _, setting := range NewHome(t, offline).Environment() {
		if strings.Contains(setting, "secret") || strings.Contains(setting, "commit.before") {
			t.Errorf("the process would get %s", setting)
		}
	}
}

func TestOutputKeepsTheNewest(t *testing.T) {
	var o output
	for range 5 {
		o.Write([]byte(strings.Repeat("old\n", maxOutput/8)))
	}
	o.Write([]byte("new"))
	if got := o.String(); len(got) != maxOutput || !strings.HasSuffix(got, "new") {
		t.Errorf("kept %d bytes, want the newest %d", len(got), maxOutput)
	}
	if held := cap(o.tail); held > 4*maxOutput {
		t.Errorf("%d bytes are allocated", held)
	}
}

func answers(t *testing.T, s *Server) {
	t.Helper()
	resp, err := http.Get(s.HTTP("/"))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
