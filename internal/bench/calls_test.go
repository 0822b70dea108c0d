package bench

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/coder/websocket"

	"strata/internal/binary"
)

// Sizes of the measurements of calls.
const (
	latencyCalls     = 4000
	throughputRounds = 8
	throughputCalls  = 2000
	inFlight         = 16
)

// measureCalls compares a trivial call with an echo of the same bytes, with the same client.
func measureCalls(b *testing.B) []row {
	server := binary.Start(b, binary.NewHome(b, "listen: 127.0.0.1:0\n"), binary.Options{})
	strata := dialBare(b, server.WebSocket(), &websocket.DialOptions{HTTPHeader: bearer(server.Info)})
	strata.roundTrip(b, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1}}`)
	reference := startChild(b, "echo")
	echo := dialBare(b, reference.line(b), nil)

	latency := takeTurns(latencyCalls, strata.latency(b), echo.latency(b))
	var strataComputed, echoComputed []float64
	rates := takeTurns(throughputRounds,
		strata.throughput(b, server.PID, &strataComputed), echo.throughput(b, reference.pid, &echoComputed))

	const of = "a WebSocket that echoes"
	throughput := rates.ratio(fmt.Sprintf("trivial calls, %d in flight", inFlight), perSecond, of, 0.25)
	throughput.atLeast = true
	return []row{
		latency.ratio("trivial call, p50", nanoseconds, of, 4),
		throughput,
		pairs{strataComputed, echoComputed}.ratio("  its processor time", nanoseconds, of, 0),
	}
}

// bare is a WebSocket without JSON-RPC.
type bare struct{ *websocket.Conn }

func dialBare(b *testing.B, url string, opt *websocket.DialOptions) bare {
	b.Helper()
	conn, _, err := websocket.Dial(b.Context(), url, opt)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { conn.CloseNow() })
	return bare{conn}
}

// trivial is a call with an empty result.
func trivial(id int) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"_strata/session/detach","params":{"sessionId":"sess_01"}}`, id+1)
}

func (c bare) roundTrip(b *testing.B, frame string) {
	b.Helper()
	c.send(b, frame)
	c.receive(b)
}

func (c bare) send(b *testing.B, frame string) {
	if err := c.Write(context.Background(), websocket.MessageText, []byte(frame)); err != nil {
		b.Error(err)
	}
}

func (c bare) receive(b *testing.B) {
	if _, _, err := c.Read(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// latency measures one round trip, in nanoseconds.
func (c bare) latency(b *testing.B) func() float64 {
	id := 0
	return func() float64 {
		id++
		frame := trivial(id)
		start := time.Now()
		c.roundTrip(b, frame)
		return float64(time.Since(start))
	}
}

// throughput measures round trips per second, and records the processor time of each, in nanoseconds.
func (c bare) throughput(b *testing.B, pid int, perCall *[]float64) func() float64 {
	return func() float64 {
		window := make(chan struct{}, inFlight)
		computed := computed(b, pid)
		start := time.Now()
		go func() {
			for id := range throughputCalls {
				window <- struct{}{}
				c.send(b, trivial(id))
			}
		}()
		for range throughputCalls {
			c.receive(b)
			<-window
		}
		elapsed := time.Since(start).Seconds()
		*perCall = append(*perCall, computed()/throughputCalls)
		return throughputCalls / elapsed
	}
}
