package serve

import (
	"errors"
	"io"
	"net"
	"testing"

	"strata/cmd/strata/internal/config"
	"strata/server/access"
)

// A unit can have another address than the configuration, whose rules apply to it.
func TestASocketBeyondLoopback(t *testing.T) {
	c := config.Default()
	for _, address := range []string{"127.0.0.1:0", "0.0.0.0:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		got, err := adopt(c, []net.Listener{l})
		if address == "127.0.0.1:0" && (err != nil || got != l || c.Listen != l.Addr().String()) {
			t.Errorf("%v, %s, error %v", got, c.Listen, err)
		}
		if address == "0.0.0.0:0" && !errors.Is(err, access.ErrBeyondLoopback) {
			t.Errorf("error %v", err)
		}
	}
	if got, err := adopt(c, nil); got != nil || err != nil {
		t.Errorf("without a socket: %v, %v", got, err)
	}
}

// A server that cannot have the database leaves no connection at the socket, for which systemd would start it again.
func TestWaitingConnectionsAreRefused(t *testing.T) {
	refuse(nil)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	var waiting []net.Conn
	for range 3 {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		waiting = append(waiting, conn)
	}
	refuse(l)
	for _, conn := range waiting {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("error %v", err)
		}
	}
}
