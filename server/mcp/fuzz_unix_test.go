//go:build unix

package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/time/rate"

	"strata/internal/process"
	"strata/session/servers"
)

// pretended is a process that is a function of this one.
type pretended struct{ done chan struct{} }

func (p *pretended) Done() <-chan struct{} { return p.done }
func (p *pretended) Exit() process.Exit    { return process.Exit{} }
func (p *pretended) Stop()                 {}

// pretend returns a starter of a function that has the stdin and stdout of a process, until it returns.
func pretend(run func(in, out *os.File)) starter {
	return func(c process.Command) (running, error) {
		p := &pretended{make(chan struct{})}
		in, out := duplicate(c.Stdin), duplicate(c.Stdout)
		go func() {
			run(in, out)
			_, _ = in.Close(), out.Close()
			close(p.done)
		}()
		return p, nil
	}
}

func duplicate(f *os.File) *os.File {
	fd, err := unix.Dup(int(f.Fd()))
	if err != nil {
		panic(err)
	}
	return os.NewFile(uintptr(fd), f.Name())
}

// odd is a server that sends data before each response.
func odd(data []byte) func(in, out *os.File) {
	return func(in, out *os.File) {
		var mu sync.Mutex
		scan := bufio.NewScanner(in)
		scan.Buffer(nil, 64<<20)
		for scan.Scan() {
			var m message
			if json.Unmarshal(scan.Bytes(), &m) != nil || m.ID == nil || m.Method == "" {
				continue
			}
			result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"odd","version":"1"},"tools":[],"content":[]}`
			mu.Lock()
			_, err := fmt.Fprintf(out, "%s\n{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", bytes.ReplaceAll(data, []byte("$ID"), m.ID), m.ID, result)
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}
}

// Empty lines count towards the rate, because a server that sends nothing else would keep a processor busy.
func TestEmptyLinesAreLimited(t *testing.T) {
	in := quiet()
	in.messages = rate.NewLimiter(0, 100)
	s, err := startStdio(pretend(func(stdin, stdout *os.File) {
		fmt.Fprint(stdout, strings.Repeat("\n", 50)+`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n")
		_, _ = io.Copy(io.Discard, stdin)
	}), process.Command{}, in, standard)
	must(t, err)
	if _, err := (*messages)(s).Read(t.Context()); err != nil {
		t.Error(err)
	}
	equal(t, "room for messages", in.messages.Tokens(), 49.0)
	s.close()
	s.wait()
}

// FuzzServer uses a server that sends anything. Whatever that is, each step ends, and nothing panics.
func FuzzServer(f *testing.F) {
	for _, m := range oddMessages {
		f.Add([]byte(m))
		f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":" + m + "}"))
	}
	f.Add([]byte(`{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"x","data":{}}}`))
	f.Add([]byte(`{"jsonrpc":"2.0","id":$ID,"result":{"tools":[{"name":"a","inputSchema":{"properties":{"a":{"properties":null}}}}],"nextCursor":"a"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		t.Parallel()
		short := standard
		short.start, short.idle, short.relist = 200*time.Millisecond, 200*time.Millisecond, 0
		s := newServer(servers.Definition{Name: "odd"}, servers.Place{Folder: "/f"}, slog.New(slog.DiscardHandler), short, "1", func(in *inbox) (link, error) {
			return startStdio(pretend(odd(data)), process.Command{}, in, short)
		})
		u := &use{server: s, changed: func() {}}
		_, _ = u.Call(t.Context(), "x", json.RawMessage(`{"a":1}`), func(string) {})
		s.end()
		<-s.done
	})
}
