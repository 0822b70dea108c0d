// Package approval decides whether a call of a tool may run: by the session's choice, by rules of the session and of the
// user's configuration, or by asking the user.
//
// It must never depend on the content of a file or of a result, nor on what an MCP server says of its tools.
package approval

import (
	"fmt"
	"slices"
	"strings"

	"strata/internal/clip"
)

// Mode is the value of a session's option approval.
type Mode string

// The modes, from the strictest.
const (
	ReadOnly Mode = "read-only" // calls that can change something are refused
	Ask      Mode = "ask"       // they are asked about
	Edits    Mode = "edits"     // changes of files inside the roots are allowed, others are asked about
	Auto     Mode = "auto"      // commands are allowed too
)

// Default is the mode of a session that chose none.
const Default = Ask

// Modes returns all modes, the strictest first.
func Modes() []Mode { return []Mode{ReadOnly, Ask, Edits, Auto} }

// Valid reports whether the mode is one of Modes.
func (m Mode) Valid() bool { return slices.Contains(Modes(), m) }

// Effect is what a call can change. The zero Effect is Anything.
type Effect int

// The effects.
const (
	Anything     Effect = iota // unknown: the tool belongs to a client or to an MCP server
	Nothing                    // it only reads
	ChangesFiles               // those of Call.Paths, and nothing else
	RunsCommand                // Call.Command
)

// Call is a call of a tool whose input has been checked.
type Call struct {
	Tool   string // its name
	Effect Effect

	// Paths are the paths that the call reads or changes: both ends of a move, and the target of a link beside the link.
	// Those of a command are unknown.
	Paths   []Path
	Command string // the command line of RunsCommand

	MCP     bool // the tool belongs to an MCP server; its Effect is Anything, whatever the server says
	Trusted bool // the user's configuration trusts that server
}

// Changes makes c a call that changes files inside the roots, with these names.
func (c *Call) Changes(names []string) {
	c.Effect = ChangesFiles
	for _, name := range names {
		c.Paths = append(c.Paths, Path{Name: name, Inside: true})
	}
}

// Path is a path of a call.
type Path struct {
	Name   string // relative to its root, with slashes
	Inside bool   // of a root of the session; then Name says where
}

// Verdict is the kind of a Decision. The zero Verdict is Asks.
type Verdict int

// The verdicts.
const (
	Asks Verdict = iota // the user decides
	Allowed
	Refused
)

// Decision is what becomes of a call.
type Decision struct {
	Verdict
	By      string // of Allowed: what allows the call, as the phrase "reading" or "rule edit_file of this session"
	Refusal string // of Refused: a sentence for the model
	Always  []Rule // of Asks: the rules that the user can make of the call, the narrowest first
}

// Equal reports whether two decisions are the same, with the same rules on offer.
func (d Decision) Equal(other Decision) bool {
	return d.Verdict == other.Verdict && d.By == other.By && d.Refusal == other.Refusal && slices.Equal(d.Always, other.Always)
}

// Policy is all that decisions depend on. The zero Policy asks about each change.
type Policy struct {
	Mode    Mode  // empty: Default
	Session Rules // made by the user's answers; they allow
	Allow   Rules // of the user's configuration
	Deny    Rules // of the user's configuration; they count more than all others
}

// Decide decides on a call. A rule allows no path that other programs run or trust, and nothing in a read-only session.
func (p *Policy) Decide(c *Call) Decision {
	if d, refused := p.refusal(c); refused {
		return d
	}
	switch {
	case c.reads():
		return Decision{Verdict: Allowed, By: "reading"}
	case c.isProtected():
		return Decision{}
	}
	if by := p.allows(c); by != "" {
		return Decision{Verdict: Allowed, By: by}
	}
	return Decision{Always: p.offered(c)}
}

// reads reports whether the call changes nothing. Annotations of MCP servers do not count.
func (c *Call) reads() bool { return c.Effect == Nothing && !c.MCP }

// isProtected reports whether the call changes what no rule and no mode allows.
func (c *Call) isProtected() bool {
	if c.Effect == ChangesFiles && len(c.Paths) == 0 {
		return true // the paths are not known
	}
	return slices.ContainsFunc(c.Paths, func(path Path) bool { return Protected(path.Name) })
}

// refusal returns the decision on a call that the user is not asked about.
func (p *Policy) refusal(c *Call) (d Decision, refused bool) {
	refuse := func(format string, args ...any) (Decision, bool) {
		return Decision{Verdict: Refused, Refusal: c.Tool + " was not run: " + fmt.Sprintf(format, args...)}, true
	}
	for _, path := range c.Paths {
		if !path.Inside {
			return refuse("%s is outside the folders of the session.", clip.Path(path.Name))
		}
	}
	if rule, denied := p.Deny.denying(c); denied {
		return refuse("the user's configuration denies it (rule %s). Do not try it in another way; tell the user.", rule.shown())
	}
	if p.Mode == ReadOnly && !c.reads() {
		return refuse("the session is read-only. Tell the user what you would have done.")
	}
	return d, false
}

// allows returns what allows a call that can change something, empty for nothing.
func (p *Policy) allows(c *Call) string {
	if rule, is := p.Allow.allowing(c); is {
		return "rule " + rule.shown() + " of the configuration"
	}
	if rule, is := p.Session.allowing(c); is {
		return "rule " + rule.shown() + " of this session"
	}
	switch {
	case c.MCP:
		if c.Trusted {
			return "the trust in its server"
		}
	case c.Effect == ChangesFiles && (p.Mode == Edits || p.Mode == Auto),
		c.Effect == RunsCommand && p.Mode == Auto:
		return "the approval " + string(p.Mode)
	}
	return ""
}

// offered returns the rules that would allow the call from now on, for which the session has room.
func (p *Policy) offered(c *Call) (rules []Rule) {
	candidates := []Rule{{tool: c.Tool}}
	if c.Effect == RunsCommand {
		candidates = []Rule{{tool: CommandTool, line: c.Command}}
		if line, ok := beginning(c.Command); ok {
			candidates = append(candidates, Rule{tool: CommandTool, line: line, begins: true})
		}
	}
	for _, rule := range candidates {
		if len(rule.String()) <= MaxRule && p.Session.HasRoomFor(rule) && strings.TrimSpace(c.Tool) != "" {
			rules = append(rules, rule)
		}
	}
	return rules
}
