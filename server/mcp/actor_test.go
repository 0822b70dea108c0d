package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// act is a server that behaves as the words of a script say, and else in order. It has a tool for each fault of a call.
func act(script string) {
	a := &actorServer{script: strings.Fields(script), out: bufio.NewWriter(os.Stdout), tools: []string{"echo"}}
	a.begin()
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			a.finish()
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil {
			a.receive(m)
		}
	}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
		Cursor    string            `json:"cursor"`
		Meta      struct {
			Token json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

type actorServer struct {
	script []string
	tools  []string
	lists  int

	mu  sync.Mutex
	out *bufio.Writer

	answers   []string // to requests of ours
	cancelled int      // number of requests that were cancelled
}

func (a *actorServer) does(word string) bool {
	for _, w := range a.script {
		if w == word {
			return true
		}
	}
	return false
}

func hang() {
	signal.Ignore(syscall.SIGTERM)
	for {
		time.Sleep(time.Hour)
	}
}

func (a *actorServer) begin() {
	switch {
	case a.does("exit-at-start"):
		fmt.Fprintln(os.Stderr, "cannot find the database")
		os.Exit(3)
	case a.does("hang-at-start"):
		hang()
	case a.does("flood-at-start"):
		for {
			a.line(strings.Repeat("noise ", 100))
		}
	case a.does("noise"):
		a.line("Welcome!")
		a.line("")
		a.line(`[1, 2]`)
		a.line(`{"no": "message"}`)
		a.line(`null`)
		a.line(strings.Repeat("[", 5000))
	case a.does("stderr"):
		for range 1000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("e", 1000))
		}
	}
}

func (a *actorServer) finish() {
	if a.does("stays") {
		hang()
	}
}

func (a *actorServer) line(text string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	_, _ = a.out.WriteString(text)
	_ = a.out.WriteByte('\n')
	if a.out.Flush() != nil {
		os.Exit(0)
	}
}

func (a *actorServer) send(m members) {
	m["jsonrpc"] = "2.0"
	data, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	a.line(string(data))
}

func (a *actorServer) reply(m message, result any) { a.send(members{"id": m.ID, "result": result}) }

func (a *actorServer) text(m message, text string) {
	a.reply(m, members{"content": []members{{"type": "text", "text": text}}})
}

func (a *actorServer) receive(m message) {
	switch m.Method {
	case "initialize":
		if a.does("die-at-initialize") {
			os.Exit(1)
		}
		if a.does("hang-at-initialize") {
			hang()
		}
		if a.does("refuse-initialize") {
			a.send(members{"id": m.ID, "error": members{"code": -32000, "message": "no licence"}})
			return
		}
		a.reply(m, members{"protocolVersion": "2025-06-18", "capabilities": members{"tools": members{"listChanged": true}}, "serverInfo": members{"name": "actor", "version": "1"}})
	case "notifications/initialized":
		if a.does("die-when-initialized") {
			os.Exit(1)
		}
	case "notifications/cancelled":
		a.mu.Lock()
		a.cancelled++
		a.mu.Unlock()
	case "tools/list":
		a.list(m)
	case "tools/call":
		go a.call(m)
	case "":
		a.answer(m)
	}
}

func tool(name string) members {
	return members{"name": name, "description": "does " + name, "inputSchema": members{"type": "object"}}
}

func (a *actorServer) list(m message) {
	defer func() { a.lists++ }()
	switch {
	case a.does("hang-at-list"):
		hang()
	case a.does("die-at-list"), a.does("die-at-second-list") && a.lists > 0:
		os.Exit(1)
	case a.does("endless-pages"):
		a.reply(m, members{"tools": []members{}, "nextCursor": m.Params.Cursor + "x"})
	case a.does("endless-tools"):
		var tools []members
		for i := range 20 {
			tools = append(tools, tool(fmt.Sprint("tool", len(m.Params.Cursor)*20+i)))
		}
		a.reply(m, members{"tools": tools, "nextCursor": m.Params.Cursor + "x"})
	case a.does("strange-tools"):
		large := members{"type": "object", "description": strings.Repeat("x", maxSchema)}
		a.reply(m, members{"tools": []any{
			tool("same"), tool("same"), tool("ill egal/" + "name\u0000"), tool(""), tool(strings.Repeat("n", 300)), tool("\xff\xfe"),
			members{"name": "large", "inputSchema": large},
			members{"name": "wordy", "description": strings.Repeat("w", 20<<10), "inputSchema": members{}},
			nil, 5, "text", members{"name": 7}, members{"name": "typed", "inputSchema": "no object", "annotations": 3},
			members{"name": "titled", "title": strings.Repeat("t", 400), "inputSchema": members{"type": "object"}},
			members{"name": "no schema"},
		}})
	default:
		var tools []members
		for _, name := range a.tools {
			tools = append(tools, tool(name))
		}
		a.reply(m, members{"tools": tools})
	}
}

func (a *actorServer) progress(m message, done int, text string) {
	a.send(members{"method": "notifications/progress", "params": members{"progressToken": m.Params.Meta.Token, "progress": done, "total": 10, "message": text}})
}

func (a *actorServer) call(m message) {
	switch m.Params.Name {
	case "echo":
		a.text(m, m.Params.Arguments["text"])
	case "environment":
		a.text(m, strings.Join(os.Environ(), "\n"))
	case "folder":
		dir, _ := os.Getwd()
		a.text(m, dir)
	case "hang":
	case "last":
		a.text(m, "last words")
		os.Exit(0)
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(7)
	case "close-stdout":
		_ = os.Stdout.Close()
		hang()
	case "large":
		a.text(m, strings.Repeat("x", 20<<20))
	case "wrong-ids":
		for _, id := range []any{-1, 999999, "1", nil, 1.5, []int{1}, members{}, -9007199254740993} {
			a.send(members{"id": id, "result": members{"content": []members{{"type": "text", "text": "wrong"}}}})
		}
		a.text(m, "right")
	case "batch":
		a.line(`[{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{}}]`)
		a.text(m, "single")
	case "deep":
		a.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":{"content":[],"structuredContent":` + strings.Repeat("[", 2_000_000) + strings.Repeat("]", 2_000_000) + `}}`)
		a.text(m, "flat")
	case "progress":
		for i := range 5 {
			a.progress(m, i, fmt.Sprint("part ", i))
		}
		a.text(m, "done")
	case "progress-and-hang":
		a.progress(m, 1, "begun")
	case "endless-progress":
		for i := 0; ; i++ {
			a.progress(m, i, strings.Repeat("p", 10000))
		}
	case "flood":
		for i := range 22000 {
			a.send(members{"method": "notifications/message", "params": members{"level": "info", "data": i}})
		}
		for _, method := range []string{"notifications/elicitation/complete", "notifications/cancelled", "notifications/unknown", "ping", ""} {
			a.send(members{"method": method})
			a.send(members{"method": method, "params": nil})
			a.send(members{"method": method, "params": []int{1}})
		}
		a.text(m, "flooded")
	case "change":
		a.tools = append(a.tools, m.Params.Arguments["name"])
		for range 100 {
			a.send(members{"method": "notifications/tools/list_changed"})
		}
		a.text(m, "changed")
	case "ask":
		a.ask(m)
	case "result":
		a.line(`{"jsonrpc":"2.0","id":` + string(m.ID) + `,"result":` + m.Params.Arguments["json"] + `}`)
	case "error":
		a.send(members{"id": m.ID, "error": members{"code": -32000, "message": "no such " + strings.Repeat("x", 10000)}})
	case "reject":
		a.send(members{"id": m.ID, "error": members{"code": codeRejected, "message": "over quota"}})
	case "cancelled":
		a.mu.Lock()
		n := a.cancelled
		a.mu.Unlock()
		a.text(m, fmt.Sprint(n))
	case "child":
		a.child(m)
	case "process":
		a.text(m, fmt.Sprint(os.Getpid()))
	}
}

// ask sends requests, and returns the answers to them.
func (a *actorServer) ask(m message) {
	for i, method := range []string{"sampling/createMessage", "elicitation/create", "roots/list", "ping", "unknown"} {
		a.send(members{"id": fmt.Sprint("ask", i), "method": method, "params": members{"messages": []int{}, "maxTokens": 1, "message": "?"}})
	}
	for {
		a.mu.Lock()
		answers := a.answers
		a.mu.Unlock()
		if len(answers) == 5 {
			a.text(m, strings.Join(answers, "\n"))
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func (a *actorServer) answer(m message) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers = append(a.answers, fmt.Sprintf("%s %s%s", m.ID, m.Result, m.Error))
}
