package serve

import (
	"errors"
	"io"
	"net"
	"testing"
)

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
