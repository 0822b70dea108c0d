package serve

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	"github.com/coreos/go-systemd/v22/daemon"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
	"strata/cmd/strata/internal/connect"
	"strata/historystore"
)

// activate returns the socket with which systemd started this process, and sets the address in the configuration; nil
// without such a socket. Programs that this process starts inherit neither the socket nor the variables.
func activate(c *config.Config) (net.Listener, error) {
	sockets, err := activation.Listeners()
	if err != nil {
		return nil, fmt.Errorf("socket of systemd: %w", err)
	}
	return adopt(c, sockets)
}

// adopt returns the only one of the sockets, and sets its address in the configuration, whose rules for addresses beyond
// loopback apply to it.
func adopt(c *config.Config, sockets []net.Listener) (net.Listener, error) {
	switch {
	case len(sockets) == 0:
		return nil, nil
	case len(sockets) > 1 || sockets[0] == nil:
		return nil, fmt.Errorf("systemd passed %d sockets: expected one ListenStream in strata.socket", len(sockets))
	}
	address, ok := sockets[0].Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("systemd passed the socket %s: expected a TCP address", sockets[0].Addr())
	}
	if err := c.CheckListen(address.String()); err != nil {
		return nil, fmt.Errorf("strata.socket: %w", err)
	}
	c.Listen = address.String()
	return sockets[0], nil
}

// refuseTime bounds refuse.
const refuseTime = 100 * time.Millisecond

// refuse closes the connections that wait at a socket of systemd, which may be nil. For a connection that stays, systemd would
// start the server again, until it has failed too often and systemd closes the socket.
func refuse(socket net.Listener) {
	l, ok := socket.(*net.TCPListener)
	if !ok || l.SetDeadline(time.Now().Add(refuseTime)) != nil {
		return
	}
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conn.Close()
	}
}

// notifyReady tells systemd that clients can find the server.
func notifyReady(log *slog.Logger) {
	if _, err := daemon.SdNotify(true, daemon.SdNotifyReady); err != nil {
		log.Warn("systemd was not notified", slog.Any("error", err))
	}
}

// wake reports whether the installed service has the database, after it made the service start the server. Clients start
// this process if they find no server, so all of them use the service.
func wake(ctx context.Context, p *cli.Process, c *config.Config) bool {
	if _, held := historystore.Holder(c.DB); held {
		return false
	}
	if _, err := connect.FindServer(p); err == nil {
		return false // with another database: clients would find that server instead of the service's
	}
	running, err := connect.Wake(ctx, p, c)
	switch {
	case err == nil:
		fmt.Fprintf(p.Stderr, "strata: the service started the server, process %d\n", running.PID)
		return true
	case !errors.Is(err, connect.ErrNoService):
		fmt.Fprintf(p.Stderr, "strata: %v; see strata service status\n", err)
	}
	return false
}
