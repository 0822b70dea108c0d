package wire

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"strata/internal/clip"
	"strata/internal/exact"
	"strata/session/servers"
)

// The bounds of the MCP servers that a client names.
const (
	maxServerName = 128       // bytes
	maxCommand    = 4 << 10   // bytes of a program or an address
	maxEntries    = 1024      // arguments, variables or headers of a server
	maxServer     = 256 << 10 // bytes of these together
)

// MCPServers are the MCP servers that a client names for a session, as ACP has them.
type MCPServers []servers.Definition

// mcpServer is an MCP server of ACP: over stdio if it has no type.
type mcpServer struct {
	Type    string    `json:"type"`
	Name    string    `json:"name" need:"content"`
	Command string    `json:"command"`
	Args    []string  `json:"args"`
	Env     []mcpPair `json:"env"`
	URL     string    `json:"url"`
	Headers []mcpPair `json:"headers"`
}

// mcpPair is a variable of an environment or a header.
type mcpPair struct {
	Name  string `json:"name" need:"content"`
	Value string `json:"value"`
}

// UnmarshalJSON decodes and checks the servers. The error names the place, and never contains a value of a variable or of a
// header.
func (m *MCPServers) UnmarshalJSON(raw []byte) error {
	var all []mcpServer
	if err := exact.Decode(raw, "", &all); err != nil {
		return err
	}
	if n := len(all); n > servers.MaxNamed {
		return exact.Want(fmt.Sprintf("%d servers exceeds the limit of %d", n, servers.MaxNamed))
	}
	*m = nil
	for i := range all {
		d, fault := all[i].definition()
		if fault == nil && slices.ContainsFunc(*m, func(other servers.Definition) bool { return other.Name == d.Name }) {
			fault = wrongAt(".name", "%s names two servers", clip.Name(d.Name))
		}
		if fault != nil {
			fault.Path = fmt.Sprintf("[%d]%s", i, fault.Path)
			return fault
		}
		*m = append(*m, d)
	}
	return nil
}

func wrongAt(path, format string, args ...any) *exact.Error {
	return &exact.Error{Path: path, Want: fmt.Sprintf(format, args...)}
}

// definition returns the definition of a server, or what is wrong with it.
func (s *mcpServer) definition() (servers.Definition, *exact.Error) {
	d := servers.Definition{Name: s.Name}
	switch {
	case s.Name == "":
		return d, exact.Missing(".name")
	case len(s.Name) > maxServerName:
		return d, wrongAt(".name", "%d bytes exceeds the limit of %d", len(s.Name), maxServerName)
	case strings.ContainsFunc(s.Name, isControl):
		return d, wrongAt(".name", "must not contain control characters")
	}
	var fault *exact.Error
	switch s.Type {
	case "", "stdio":
		fault = s.stdio(&d)
	case "http":
		fault = s.http(&d)
	case "sse":
		fault = wrongAt(".type", "sse is not supported: use stdio or http")
	default:
		fault = wrongAt(".type", "%q is unknown; the types are stdio and http", clip.Name(s.Type))
	}
	if fault == nil {
		fault = s.bounded()
	}
	return d, fault
}

func (s *mcpServer) stdio(d *servers.Definition) *exact.Error {
	if fault := checkCommand(".command", s.Command); fault != nil {
		return fault
	}
	d.Command, d.Args = s.Command, s.Args
	for i, arg := range s.Args {
		if strings.Contains(arg, "\x00") {
			return wrongAt(fmt.Sprintf(".args[%d]", i), "must not contain NUL")
		}
	}
	for i, v := range s.Env {
		switch {
		case v.Name == "":
			return exact.Missing(fmt.Sprintf(".env[%d].name", i))
		case strings.ContainsAny(v.Name, "=\x00"):
			return wrongAt(fmt.Sprintf(".env[%d].name", i), "must contain neither = nor NUL")
		case strings.Contains(v.Value, "\x00"):
			return wrongAt(fmt.Sprintf(".env[%d].value", i), "must not contain NUL")
		}
		d.Env = append(d.Env, v.Name+"="+v.Value)
	}
	return nil
}

func (s *mcpServer) http(d *servers.Definition) *exact.Error {
	if fault := checkCommand(".url", s.URL); fault != nil {
		return fault
	}
	u, err := url.Parse(s.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return wrongAt(".url", "must be an address with http or https")
	}
	d.URL = s.URL
	for i, h := range s.Headers {
		switch {
		case h.Name == "":
			return exact.Missing(fmt.Sprintf(".headers[%d].name", i))
		case strings.ContainsFunc(h.Name, isNoToken):
			return wrongAt(fmt.Sprintf(".headers[%d].name", i), "must be the name of a header")
		case strings.ContainsFunc(h.Value, func(c rune) bool { return c != '\t' && isControl(c) }):
			return wrongAt(fmt.Sprintf(".headers[%d].value", i), "must not contain control characters")
		}
		d.Headers = append(d.Headers, servers.Header(h))
	}
	return nil
}

// checkCommand checks a program or an address.
func checkCommand(path, text string) *exact.Error {
	switch {
	case text == "":
		return exact.Missing(path)
	case len(text) > maxCommand:
		return wrongAt(path, "%d bytes exceeds the limit of %d", len(text), maxCommand)
	case strings.ContainsFunc(text, isControl):
		return wrongAt(path, "must not contain control characters")
	}
	return nil
}

// bounded checks the size of the server.
func (s *mcpServer) bounded() *exact.Error {
	size := 0
	for _, arg := range s.Args {
		size += len(arg)
	}
	for _, p := range slices.Concat(s.Env, s.Headers) {
		size += len(p.Name) + len(p.Value)
	}
	for path, n := range map[string]int{".args": len(s.Args), ".env": len(s.Env), ".headers": len(s.Headers)} {
		if n > maxEntries {
			return wrongAt(path, "%d entries exceeds the limit of %d", n, maxEntries)
		}
	}
	if size > maxServer {
		return wrongAt("", "%d bytes exceeds the limit of %d", size, maxServer)
	}
	return nil
}

func isControl(c rune) bool { return c < ' ' || c == 0x7f }

// isNoToken reports whether a character cannot be in the name of a header (RFC 9110, section 5.6.2).
func isNoToken(c rune) bool {
	return c <= ' ' || c >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, c)
}

// MCPServer is an MCP server in the result of _strata/server/info: that of the configuration, or of all sessions whose clients
// named the same one.
type MCPServer struct {
	Name      string    `json:"name"`
	Transport string    `json:"transport"` // stdio or http
	Source    string    `json:"source"`    // config or client
	State     string    `json:"state"`     // starting, ready, failed or unused
	Error     string    `json:"error,omitempty"`
	Sessions  int       `json:"sessions"` // that use it
	Tools     []MCPTool `json:"tools"`
}

// MCPTool is a tool of an MCP server, as the server names it.
type MCPTool struct {
	Name        string `json:"name"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"` // its beginning
}

// NewMCPServers returns the servers of a list, whose errors are truncated.
func NewMCPServers(list []servers.Listed) []MCPServer {
	all := make([]MCPServer, len(list))
	for i, l := range list {
		transport := "stdio"
		if l.URL != "" {
			transport = "http"
		}
		all[i] = MCPServer{
			Name: l.Name, Transport: transport, Source: string(l.Origin), State: string(l.Status), Error: clip.Bytes(l.Error, maxMCPError),
			Sessions: l.Sessions, Tools: make([]MCPTool, len(l.Tools)),
		}
		for j, t := range l.Tools {
			all[i].Tools[j] = MCPTool{Name: t.Name, Title: t.Title, Description: t.Description}
		}
	}
	return all
}

// maxMCPError is the maximum size of a server's error, in bytes.
const maxMCPError = 4 << 10
