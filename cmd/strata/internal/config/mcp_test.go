package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"strata/session/servers"
)

const mcpExample = `
tools: {commands: client}
mcp_servers:
  remote: {url: "https://mcp.example/mcp?key=secret-query", headers: {Authorization: "Bearer ${MCP_TOKEN}", X-Plain: secret-header}, trust: true}
  files.v2:
    command: npx
    args: [-y, "@modelcontextprotocol/server-filesystem", .]
    env: {TOKEN: "${MCP_TOKEN}", LITERAL: "$${MCP_TOKEN} costs $5", SECRET: secret-env}
  own: {command: ./bin/own}
  home: {command: ~/bin/home}
`

func loadMCP(t *testing.T) (c *Config, path, home string) {
	t.Helper()
	path, getenv := writeFile(t, mcpExample), variables(t, nil)
	c, err := Load(Sources{File: path, Getenv: getenv})
	if err != nil {
		t.Fatal(err)
	}
	return c, path, getenv("HOME")
}

func TestMCPServersAreDefined(t *testing.T) {
	c, path, home := loadMCP(t)
	got := c.MCPDefinitions(variables(t, map[string]string{"MCP_TOKEN": "a token"}))
	want := []servers.Definition{
		{Name: "files.v2", Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."},
			Env: []string{"LITERAL=${MCP_TOKEN} costs $5", "SECRET=secret-env", "TOKEN=a token"}},
		{Name: "home", Command: filepath.Join(home, "bin", "home")},
		{Name: "own", Command: filepath.Join(filepath.Dir(path), "bin", "own")},
		{Name: "remote", URL: "https://mcp.example/mcp?key=secret-query", Trusted: true,
			Headers: []servers.Header{{Name: "Authorization", Value: "Bearer a token"}, {Name: "X-Plain", Value: "secret-header"}}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if c.Tools.Commands != "client" {
		t.Errorf("commands: %s", c.Tools.Commands)
	}
}

// A variable that is not set makes its server unusable, not the configuration.
func TestAMissingVariableIsAFaultOfItsServer(t *testing.T) {
	c, _, _ := loadMCP(t)
	faults := map[string]string{}
	for _, d := range c.MCPDefinitions(variables(t, nil)) {
		faults[d.Name] = d.Fault
	}
	want := map[string]string{
		"files.v2": "mcp_servers.files.v2.env.TOKEN: the variable MCP_TOKEN is not set in Strata's environment",
		"home":     "", "own": "",
		"remote": "mcp_servers.remote.headers.Authorization: the variable MCP_TOKEN is not set in Strata's environment",
	}
	if !reflect.DeepEqual(faults, want) {
		t.Errorf("%v, want %v", faults, want)
	}
}

func TestPrintHidesTheSecretsOfMCPServers(t *testing.T) {
	c, _, _ := loadMCP(t)
	var b bytes.Buffer
	if err := c.Print(&b); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "secret-") || strings.Contains(b.String(), "MCP_TOKEN") {
		t.Errorf("a secret is shown:\n%s", &b)
	}
	for _, want := range []string{
		"mcp_servers.files.v2.env.TOKEN:", "mcp_servers.remote.headers.X-Plain:", "https://mcp.example/mcp?********", "npx", "tools.commands:",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %s in\n%s", want, &b)
		}
	}
}

func TestWrongMCPServers(t *testing.T) {
	many := "mcp_servers:\n"
	for i := range 33 {
		many += fmt.Sprintf("  s%d: {command: x}\n", i)
	}
	for text, want := range map[string]string{
		many:                               "mcp_servers: 33 servers exceeds the limit of 32",
		"mcp_servers: {a: {}}":             "mcp_servers.a: command or url is missing",
		"mcp_servers: {a: {trust: true}}":  "command or url is missing",
		"mcp_servers: {a: }":               "command or url is missing",
		"mcp_servers: [a]":                 "a list is not a mapping",
		"mcp_servers: {a b: {command: x}}": `"a b" is not a server's name`,
		"mcp_servers: {" + strings.Repeat("a", 65) + ": {command: x}}":            "is not a server's name",
		"mcp_servers: {a: {command: x, url: \"http://h/\"}}":                      "mcp_servers.a.url: the server has a command",
		"mcp_servers: {a: {url: \"http://h/\", args: [x]}}":                       "mcp_servers.a.args: only a server with a command",
		"mcp_servers: {a: {url: \"http://h/\", env: {A: x}}}":                     "mcp_servers.a.env: only a server with a command",
		"mcp_servers: {a: {command: x, headers: {A: x}}}":                         "mcp_servers.a.headers: only a server with a url",
		"mcp_servers: {a: {command: x, cwd: /}}":                                  `unknown key "cwd"; allowed: command, args, env, url, headers, trust`,
		"mcp_servers: {a: {command: x, trust: maybe}}":                            "is not true or false",
		"mcp_servers: {a: {command: \" \"}}":                                      "is not a program",
		"mcp_servers: {a: {command: x, env: {A-B: secret}}}":                      `"A-B" is not the name of an environment variable`,
		"mcp_servers: {a: {command: x, env: {A: 1}}}":                             "mcp_servers.a.env.A: the value is not text",
		"mcp_servers: {a: {command: x, env: {A: \"secret ${\"}}}":                 "mcp_servers.a.env.A: the value is not text, in which ${NAME}",
		"mcp_servers: {a: {command: x, env: {A: \"${A B}secret\"}}}":              "the value is not text, in which",
		"mcp_servers: {a: {command: x, env: {A: \"secret\\0\"}}}":                 "the value is not text, in which",
		"mcp_servers: {a: {url: \"http://h/\", headers: {A: \"secret\\nB: c\"}}}": "the value is not text of one line",
		"mcp_servers: {a: {url: \"http://h/\", headers: {\"A B\": x}}}":           "is not a header's name",
		"mcp_servers: {a: {url: \"ftp://h/secret\"}}":                             "the value is not an http or https address",
		"mcp_servers: {a: {url: \"http://secret:secret@h/\"}}":                    "the value is not an http or https address",
		"mcp_servers: {a: {url: \"http:///secret\"}}":                             "the value is not an http or https address",
		"tools: {commands: never}":                                                `"never" is not one of client, any, off`,
	} {
		_, err := loadText(t, text)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%.60s: the error contains a value: %v", text, err)
		}
	}
}

// A workspace's file comes with other people's code, so it starts no program.
func TestAWorkspaceNamesNoMCPServers(t *testing.T) {
	c, _, _ := loadMCP(t)
	folder := t.TempDir()
	for _, text := range []string{"mcp_servers: {a: {command: x}}", "tools: {commands: any}"} {
		if err := os.WriteFile(filepath.Join(folder, WorkspaceFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := c.ForWorkspace(folder, os.OpenRoot); err == nil || !strings.Contains(err.Error(), "unknown key") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
