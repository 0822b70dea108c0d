package config

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"strata/internal/lazy"
	"strata/session/servers"
)

// MCPServer is an MCP server of the user: either a program or a URL.
type MCPServer struct {
	Command string             `yaml:"command" allow:"program" empty:"yes" doc:"Program of the server: a path, or a name that is looked up in PATH."`
	Args    []string           `yaml:"args" allow:"text" doc:"Arguments of the program."`
	Env     map[string]*string `yaml:"env" names:"envname" allow:"template" secret:"value" doc:"An environment variable of the program."`
	URL     string             `yaml:"url" allow:"mcpurl" empty:"yes" secret:"query" doc:"Address of a server over HTTP (streamable HTTP)."`
	Headers map[string]*string `yaml:"headers" names:"header" allow:"linetemplate" secret:"value" doc:"A header of each request to url."`
	Trust   bool               `yaml:"trust" doc:"Run calls of the server's tools without asking."`
}

// checkMCPServers checks that each server has the settings of its transport, and none of the other transport.
func (l *loader) checkMCPServers() {
	if n := len(l.MCPServers); n > servers.MaxNamed {
		l.wrong("mcp_servers", "%d servers exceeds the limit of %d", n, servers.MaxNamed)
	}
	for _, name := range slices.Sorted(maps.Keys(l.MCPServers)) {
		dotted, s := "mcp_servers."+name, l.MCPServers[name]
		switch {
		case s.Command == "" && s.URL == "":
			l.wrong(dotted, "command or url is missing: set one of them")
		case s.Command != "" && s.URL != "":
			l.wrong(dotted+".url", "the server has a command: remove one of them")
		case s.Command == "" && len(s.Args) > 0:
			l.wrong(dotted+".args", "only a server with a command has arguments")
		case s.Command == "" && len(s.Env) > 0:
			l.wrong(dotted+".env", "only a server with a command has an environment")
		case s.URL == "" && len(s.Headers) > 0:
			l.wrong(dotted+".headers", "only a server with a url has headers")
		}
	}
}

// MCPDefinitions returns the servers of mcp_servers, sorted by name. getenv returns the values of the variables that
// settings refer to. A definition with a variable that is not set has a Fault.
func (c *Config) MCPDefinitions(getenv func(string) string) []servers.Definition {
	list := make([]servers.Definition, 0, len(c.MCPServers))
	for _, name := range slices.Sorted(maps.Keys(c.MCPServers)) {
		list = append(list, c.MCPServers[name].definition(name, getenv))
	}
	return list
}

func (s *MCPServer) definition(name string, getenv func(string) string) servers.Definition {
	d := servers.Definition{Name: name, Command: s.Command, Args: slices.Clone(s.Args), URL: s.URL, Trusted: s.Trust}
	expanded := func(section, key, text string) string {
		value, missing := expand(text, getenv)
		if missing != "" && d.Fault == "" {
			d.Fault = fmt.Sprintf("mcp_servers.%s.%s.%s: the variable %s is not set in Strata's environment", name, section, key, missing)
		}
		return value
	}
	for _, key := range slices.Sorted(maps.Keys(s.Env)) {
		d.Env = append(d.Env, key+"="+expanded("env", key, *s.Env[key]))
	}
	for _, key := range slices.Sorted(maps.Keys(s.Headers)) {
		d.Headers = append(d.Headers, servers.Header{Name: key, Value: expanded("headers", key, *s.Headers[key])})
	}
	return d
}

// variableRef matches a reference to a variable, ${NAME}, and the text that stands for "${" itself, "$${".
var variableRef = lazy.Regexp(`\$\$\{|\$\{[^{}]*\}?`)

// isTemplate reports whether all references in a text are well formed.
func isTemplate(text string) bool {
	return !slices.ContainsFunc(variableRef().FindAllString(text, -1), func(ref string) bool {
		name, closed := referred(ref)
		return ref != "$${" && !(closed && isVariable(name))
	})
}

func referred(ref string) (name string, closed bool) {
	return strings.CutSuffix(strings.TrimPrefix(ref, "${"), "}")
}

// expand returns a text with the values of the variables that it refers to, and the first one without a value; empty if
// all have one.
func expand(text string, getenv func(string) string) (value, missing string) {
	value = variableRef().ReplaceAllStringFunc(text, func(ref string) string {
		if ref == "$${" {
			return "${"
		}
		name, _ := referred(ref)
		v := getenv(name)
		if v == "" && missing == "" {
			missing = name
		}
		return v
	})
	return value, missing
}
