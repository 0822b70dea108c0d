package rpc

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// rawSocket is a WebSocket client that sends any bytes.
type rawSocket struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

// dialRaw opens a WebSocket without a library.
func dialRaw(t *testing.T, address string) *rawSocket {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"+
		"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", address)
	in := bufio.NewReader(conn)
	resp, err := http.ReadResponse(in, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("upgrade: %v, %v", resp, err)
	}
	return &rawSocket{t, conn, in}
}

// send sends a frame with a mask of zeros.
func (s *rawSocket) send(opcode byte, payload []byte) {
	s.t.Helper()
	frame := append([]byte{0x80 | opcode, 0x80 | byte(len(payload)), 0, 0, 0, 0}, payload...)
	if _, err := s.conn.Write(frame); err != nil {
		s.t.Fatal(err)
	}
}

// receive returns the next frame.
func (s *rawSocket) receive() (opcode byte, payload []byte) {
	s.t.Helper()
	head := make([]byte, 2, 10)
	if _, err := io.ReadFull(s.in, head); err != nil {
		s.t.Fatal(err)
	}
	for n := map[byte]int{126: 2, 127: 8}[head[1]]; n > 0; n-- {
		b, err := s.in.ReadByte()
		if err != nil {
			s.t.Fatal(err)
		}
		head = append(head, b)
	}
	_, size := frameSize(head)
	payload = make([]byte, size)
	if _, err := io.ReadFull(s.in, payload); err != nil {
		s.t.Fatal(err)
	}
	return head[0] & 0xf, payload
}

// A close frame whose reason is not UTF-8 is answered with 1007, any other one with its own code.
func TestR08CloseFrames(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		stream, err := AcceptWebSocket(w, r, WebSocketOptions{})
		if err != nil {
			t.Error(err)
			return
		}
		big := HandlerFunc(func(_ *Conn, r *Request) { r.Reply(strings.Repeat("\u0088", 10_000)) }) // bytes like those of a close frame
		_ = NewConn(stream, big, Options{}).Serve(t.Context())
	}))
	t.Cleanup(server.Close)
	closing := func(code uint16, reason string) []byte {
		return append(binary.BigEndian.AppendUint16(nil, code), reason...)
	}
	for name, tt := range map[string]struct {
		payload []byte
		code    uint16
		reason  string
	}{
		"not UTF-8":           {closing(1000, "bye \xff\xfe"), closeInvalidText, "the reason is not UTF-8"},
		"the start of a rune": {closing(1001, "\xc3"), closeInvalidText, "the reason is not UTF-8"},
		"a surrogate":         {closing(1000, "\xed\xa0\x80"), closeInvalidText, "the reason is not UTF-8"},
		"as long as may be":   {closing(1000, strings.Repeat("\xff", 123)), closeInvalidText, "the reason is not UTF-8"},
		"UTF-8":               {closing(1000, "schön"), 1000, "schön"},
		"no reason":           {closing(1001, ""), 1001, ""},
	} {
		s := dialRaw(t, strings.TrimPrefix(server.URL, "http://"))
		s.send(1, []byte(`{"jsonrpc":"2.0","id":1,"method":"big"}`))
		if opcode, payload := s.receive(); opcode != 1 || strings.Count(string(payload), "\u0088") != 10_000 {
			t.Fatalf("%s: opcode %d, %d bytes", name, opcode, len(payload))
		}
		s.send(9, []byte("ping"))
		if opcode, payload := s.receive(); opcode != 10 || string(payload) != "ping" {
			t.Fatalf("%s: opcode %d, %q", name, opcode, payload)
		}
		s.send(8, tt.payload)
		opcode, payload := s.receive()
		if want := closing(tt.code, tt.reason); opcode != 8 || !slices.Equal(payload, want) {
			t.Errorf("%s: opcode %d, %q, want %q", name, opcode, payload, want)
		}
	}
}
