package doctor

import (
	"os/exec"
	"path/filepath"
	"strings"

	"strata/session/servers"
)

// checkMCPServers checks that the programs of mcp_servers are found, and the variables that their values name. Nothing is
// started, and no address is called.
func (d *doctor) checkMCPServers() {
	for _, s := range d.config.MCPDefinitions(d.Getenv) {
		program, found := "", true
		if s.Command != "" {
			program, found = d.program(s)
		}
		switch {
		case !found:
			d.fail("mcp", "%s: the program %s is not found: install it, or set mcp_servers.%s.command to its path", s.Name, s.Command, s.Name)
		case s.Fault != "":
			d.warn("mcp", "%s: %s: set it where the server is started", s.Name, s.Fault)
		case s.Command != "":
			d.ok("mcp", "%s: %s", s.Name, program)
		default:
			d.ok("mcp", "%s: configured; `strata mcp test %s` connects to it", s.Name, s.Name)
		}
	}
}

// program returns the path of a server's program, looked up in the server's own PATH if it has one.
func (d *doctor) program(s servers.Definition) (path string, found bool) {
	if strings.ContainsAny(s.Command, "/"+string(filepath.Separator)) {
		path, err := exec.LookPath(s.Command)
		return path, err == nil
	}
	folders := d.Getenv("PATH")
	for _, variable := range s.Env {
		if own, isPath := strings.CutPrefix(variable, "PATH="); isPath {
			folders = own
		}
	}
	for _, folder := range filepath.SplitList(folders) {
		if !filepath.IsAbs(folder) {
			continue // a relative one depends on the folder of the session
		}
		if path, err := exec.LookPath(filepath.Join(folder, s.Command)); err == nil {
			return path, true
		}
	}
	return "", false
}
