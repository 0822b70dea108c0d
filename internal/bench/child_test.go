package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// children are the references that run in their own process, like the server.
var children = map[string]func(){
	"echo":   echo,
	"direct": direct,
	"page":   page,
}

// child is the process of a reference. It exits when its input is closed, at the end of its benchmark.
type child struct {
	pid   int
	input io.Writer
	lines *bufio.Scanner // its output
}

func startChild(b *testing.B, name string) *child {
	b.Helper()
	cmd := exec.Command(must(os.Executable())(b))
	cmd.Env = append(os.Environ(), childEnv+"="+name)
	cmd.Stderr = os.Stderr
	input, output := must(cmd.StdinPipe())(b), must(cmd.StdoutPipe())(b)
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		input.Close()
		if err := cmd.Wait(); err != nil {
			b.Errorf("reference %s: %v", name, err)
		}
	})
	return &child{cmd.Process.Pid, input, bufio.NewScanner(output)}
}

// line returns the next line of the child's output.
func (c *child) line(b *testing.B) string {
	b.Helper()
	if !c.lines.Scan() {
		b.Fatalf("the reference has ended: %v", c.lines.Err())
	}
	return c.lines.Text()
}

// echo prints its address and echoes all WebSocket messages.
func echo() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		for {
			kind, message, err := conn.Read(context.Background())
			if err != nil || conn.Write(context.Background(), kind, message) != nil {
				return
			}
		}
	}))
	fmt.Println("ws://" + listener.Addr().String())
	io.Copy(io.Discard, os.Stdin)
}

// page prints the address of a page with one line of text.
func page() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<!doctype html><title>page</title><link rel=icon href=data:,><p>A line of text.")
	}))
	fmt.Println("http://" + listener.Addr().String() + "/")
	io.Copy(io.Discard, os.Stdin)
}

// maxOrder is the maximum length of an order, in bytes.
const maxOrder = 16 << 20

// order is a request to the direct client, sent as a line of JSON.
type order struct {
	URL     string // of chat completions
	Body    []byte // of each request
	Streams int    // concurrent
}

// receipt is the response to an order.
type receipt struct {
	Bytes int           // of received text
	First time.Duration // until the first text
	Whole time.Duration // until the end of all streams
	Error string
}

// stream makes the child read streams and checks that they contain the whole text.
func (c *child) stream(b *testing.B, o order, want int) receipt {
	b.Helper()
	if _, err := c.input.Write(append(encoded(o), '\n')); err != nil {
		b.Fatal(err)
	}
	var r receipt
	if err := json.Unmarshal([]byte(c.line(b)), &r); err != nil {
		b.Fatal(err)
	}
	if r.Error != "" || r.Bytes != want {
		b.Fatalf("the direct client got %d bytes of %d: %s", r.Bytes, want, r.Error)
	}
	return r
}

// direct reads streams of a provider like a client without a server.
func direct() {
	orders := bufio.NewScanner(os.Stdin)
	orders.Buffer(nil, maxOrder)
	for orders.Scan() {
		var o order
		if err := json.Unmarshal(orders.Bytes(), &o); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Stdout.Write(append(encoded(o.carryOut()), '\n'))
	}
}

func (o order) carryOut() receipt {
	var all receipt
	var mu sync.Mutex
	var streams sync.WaitGroup
	start := time.Now()
	for range o.Streams {
		streams.Go(func() {
			n, first, err := o.read()
			mu.Lock()
			defer mu.Unlock()
			all.Bytes, all.First = all.Bytes+n, first.Sub(start)
			if err != nil {
				all.Error = err.Error()
			}
		})
	}
	streams.Wait()
	all.Whole = time.Since(start)
	return all
}

// read sends one request and decodes the deltas of the reply.
func (o order) read() (n int, first time.Time, err error) {
	resp, err := http.Post(o.URL, "application/json", bytes.NewReader(o.Body))
	if err != nil {
		return 0, first, err
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		switch {
		case !ok:
			continue
		case data == "[DONE]":
			_, err := io.Copy(io.Discard, resp.Body)
			return n, first, err
		}
		var chunk struct {
			Choices []struct{ Delta struct{ Content string } }
		}
		if err := json.Unmarshal([]byte(data), &chunk); err != nil {
			return n, first, err
		}
		for _, c := range chunk.Choices {
			n += len(c.Delta.Content)
		}
		if first.IsZero() && n > 0 {
			first = time.Now()
		}
	}
	return n, first, errors.Join(lines.Err(), io.ErrUnexpectedEOF)
}
