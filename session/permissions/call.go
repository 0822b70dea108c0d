package permissions

import (
	"strata/session/approval"
	"strata/session/tools"
)

// Call returns a call as rules and modes see it. change is what it changes of files; nil: that is not known.
func Call(c *tools.Call, change *tools.Change) *approval.Call {
	decided := &approval.Call{Tool: c.Tool.Name}
	if server := c.Tool.Server; server != nil {
		decided.MCP, decided.Trusted = true, server.Trusted
	}
	switch {
	case change != nil:
		decided.Changes(change.Names)
	case c.Tool.Command != nil:
		decided.Effect, decided.Command = approval.RunsCommand, c.Tool.Command(c.Args)
	}
	return decided
}
