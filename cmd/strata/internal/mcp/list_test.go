package mcp

import (
	"bytes"
	"regexp"
	"testing"

	"strata/session/servers"
)

var definitions = []servers.Definition{
	{Name: "files", Command: "npx", Args: []string{"-y", "two words", ""}, Env: []string{"TOKEN=secret"}},
	{Name: "late", Command: "late"},
	{Name: "remote", URL: "https://mcp.example/mcp?key=secret", Headers: []servers.Header{{Name: "Authorization", Value: "secret"}}},
	{Name: "twice", Command: "twice"},
}

var running = []listed{
	{Name: "broken", Transport: "stdio", Source: "client", State: "failed", Error: "no such program\nin \x1b[31mPATH", Sessions: 1},
	{Name: "files", Transport: "stdio", Source: "config", State: "ready", Sessions: 2, Tools: []tool{{Name: "read", Description: "Reads."}}},
	{Name: "gone", Transport: "stdio", Source: "config", State: "ready", Sessions: 1},
	{Name: "remote", Transport: "http", Source: "config", State: "unused"},
	{Name: "twice", Transport: "stdio", Source: "client", State: "starting", Sessions: 1},
	{Name: "twice", Transport: "stdio", Source: "config", State: "unused"},
}

// collapse makes a table independent of the width of its columns.
func collapse(text string) string { return regexp.MustCompile(` +`).ReplaceAllString(text, " ") }

func TestServersAreListed(t *testing.T) {
	const want = `files   ready, 1 tool, 2 sessions    npx -y "two words" ""
late    not loaded                   configured after the start of the running server: run ` + "`strata stop`" + `
remote  unused                       https://mcp.example/mcp
twice   unused                       twice
broken  failed, 0 tools, 1 session   no such program in [31mPATH
gone    ready, 0 tools, 1 session    no longer configured; in use until the running server stops
twice   starting, 0 tools, 1 session named by a client
`
	var b bytes.Buffer
	if err := writeTable(&b, merge(definitions, running), true); err != nil {
		t.Fatal(err)
	}
	if got := collapse(b.String()); got != collapse(want) {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestServersAreListedWithoutStates(t *testing.T) {
	const want = `files  stdio npx -y "two words" ""
late   stdio late
remote http  https://mcp.example/mcp
twice  stdio twice
`
	var b bytes.Buffer
	if err := writeTable(&b, merge(definitions, nil), false); err != nil {
		t.Fatal(err)
	}
	if got := collapse(b.String()); got != collapse(want) {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}

func TestServersAreListedAsJSON(t *testing.T) {
	const want = `{"name":"files","transport":"stdio","source":"config","state":"ready","sessions":2,"tools":[{"name":"read","description":"Reads."}],"configured":true}
{"name":"remote","transport":"http","source":"config","sessions":0,"tools":[],"configured":true}
`
	var b bytes.Buffer
	if err := writeJSON(&b, merge([]servers.Definition{definitions[0], definitions[2]}, running[1:2])); err != nil {
		t.Fatal(err)
	}
	if b.String() != want {
		t.Errorf("got\n%s\nwant\n%s", &b, want)
	}
}
