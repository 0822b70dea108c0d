package acpcheck

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"strata/internal/binary"
	"strata/internal/upstream"
)

func TestMain(m *testing.M) { binary.Main(m) }

// longPrompt makes the scripted upstream stream until it is cancelled.
const longPrompt = "Count slowly, one number per line, without an end."

func TestWebSocketClients(t *testing.T) {
	dir := client(t)
	tests := []struct{ name, sdk, bearerIn string }{
		{"sdk 2, token in a header", "2", "header"},
		{"sdk 2, token in a subprotocol", "2", "subprotocol"},
		{"sdk 1, token in a header", "1", "header"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t)
			verify(t, dir, "acp-check.mjs", server.WebSocket(), "--token", server.Token,
				"--sdk", tt.sdk, "--bearer-in", tt.bearerIn, "--cwd", server.Home.Project, "--long", longPrompt)
			server.Stop()
		})
	}
}

func TestStdioClient(t *testing.T) {
	server := serve(t)
	verifyStdio(t, server.Home)
	server.Stop()
}

func TestStdioClientStartsAServer(t *testing.T) {
	home := newHome(t)
	defer home.StopDetached(t)
	verifyStdio(t, home)
}

func verifyStdio(t *testing.T, home *binary.Home) {
	t.Helper()
	stdio := home.Command(t.Context(), "stdio")
	args := []string{"--cwd", home.Project, "--long", longPrompt, "--", "env", "-i"}
	verify(t, client(t), "stdio-check.mjs", append(append(args, stdio.Env...), stdio.Args...)...)
}

func client(t *testing.T) string {
	t.Helper()
	dir, err := Install(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func serve(t *testing.T) *binary.Server {
	t.Helper()
	return binary.Start(t, newHome(t), binary.Options{})
}

// newHome returns a home folder with a scripted upstream as the model.
func newHome(t *testing.T) *binary.Home {
	t.Helper()
	model := upstream.Start(upstream.Options{Strict: true})
	t.Cleanup(model.Close)
	model.Choose(func(req *upstream.Request) upstream.Script {
		if !strings.HasSuffix(req.LastText(), longPrompt) {
			return upstream.Default(req)
		}
		number := func(n int) string { return fmt.Sprintf("%d\n", n+1) }
		return upstream.Script{
			Usage: upstream.Usage{Input: req.Tokens(), Output: 10},
			Steps: []upstream.Step{upstream.Endless(nil, 2*time.Millisecond, number)},
		}
	})
	return binary.NewHome(t, binary.Config(model.OpenAIURL()))
}

// verify runs a client and fails unless all of its checks pass.
func verify(t *testing.T, dir, script string, args ...string) {
	t.Helper()
	report, err := Run(t.Context(), dir, script, args...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.With(Fail) {
		t.Error(c)
	}
	for _, c := range report.With(Skip) {
		t.Error(c)
	}
	if len(report.With(OK)) == 0 {
		t.Error("no check passed")
	}
	if t.Failed() {
		t.Log(report.Output)
	}
}
