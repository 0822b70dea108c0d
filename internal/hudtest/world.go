package hudtest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"

	"strata/internal/binary"
	"strata/internal/testclient"
	"strata/internal/upstream"
)

// World is a server with a scripted model, and a project.
type World struct {
	*binary.Server
	Model *upstream.Server
}

// NewWorld starts a server on a port that it keeps after restarts. Additional configuration is optional. Other tests
// run concurrently.
func NewWorld(t testing.TB, config ...string) *World {
	t.Helper()
	besideOthers(t)
	model := upstream.Start(upstream.Options{})
	t.Cleanup(model.Close)
	settings := strings.Replace(binary.Config(model.OpenAIURL()), "127.0.0.1:0", fmt.Sprintf("127.0.0.1:%d", FreePort(t)), 1)
	home := binary.NewHome(t, settings+strings.Join(config, ""))
	return &World{Server: binary.Start(t, home, binary.Options{}), Model: model}
}

// besideOthers runs a test concurrently with others: a test of a page mostly waits.
func besideOthers(t testing.TB) {
	if test, ok := t.(*testing.T); ok {
		test.Parallel()
	}
}

// FreePort returns an unused port of loopback that no client's connection gets either: between the end of a server and its restart the
// system could give the port to one.
func FreePort(t testing.TB) int {
	t.Helper()
	for range 100 {
		port := 11_000 + rand.IntN(20_000) // browsers refuse 10,080, and systems give clients ports from 32,768 on
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// Editor connects another client to the server, to compare the page with the server's data.
func (w *World) Editor(t testing.TB) *testclient.Editor {
	t.Helper()
	e := testclient.Connect(t, w.WebSocket(), w.Token)
	e.Initialize()
	return e
}
