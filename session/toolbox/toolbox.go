// Package toolbox owns the tools of a session: the built-in ones, those that a frontend has declared, and those of MCP servers.
//
// It must never know how a call reaches a frontend, and never store a declaration: that lives in memory.
package toolbox

import (
	"context"
	"slices"

	"strata/llm"
	"strata/session/mailbox"
	"strata/session/tools"
)

// Toolbox is the tools of a session. It belongs to the session's mailbox, except for Submit and Leave.
//
// The requests of a session have one set of definitions, which changes only at the beginning of a turn. A tool that is no
// longer there keeps its definition until a request is built of which nothing is cached: removing the definition earlier
// would make the provider read the whole request again.
type Toolbox struct {
	mailbox *mailbox.Mailbox
	newest  func() uint64 // sequence number of the newest event
	servers Servers

	frontend Frontend     // that declared; nil: it has left, or nothing was declared
	declared *Declaration // nil: none

	set       *tools.Set // of the newest turn
	withdrawn []string   // names of tools in it that are no longer there
}

// Servers are the MCP servers of a session. They belong to the session's mailbox.
type Servers interface {
	// Tools returns the tools that the servers offer, at most room. Their schemas and names are valid; their names differ and
	// are not taken.
	Tools(room int, taken func(name string) bool) []tools.Tool
}

// New returns a toolbox without tools. newest returns the sequence number of the session's newest event. servers may be nil.
func New(m *mailbox.Mailbox, newest func() uint64, servers Servers) *Toolbox {
	return &Toolbox{mailbox: m, newest: newest, servers: servers, set: new(tools.Set)}
}

// Offer is the tools that a frontend declares, and the frontend that runs them.
type Offer struct {
	Frontend Frontend
	Tools    *Declaration
}

// Declare replaces the tools that were declared before. Further calls of declared tools go to the frontend of the offer; its
// tools are in the set of the next turn. It has no effect for nil.
func (b *Toolbox) Declare(o *Offer) {
	if o != nil {
		b.frontend, b.declared = o.Frontend, o.Tools
	}
}

// Submit is Declare for other goroutines.
func (b *Toolbox) Submit(o *Offer) { b.mailbox.Tell(func() { b.Declare(o) }, nil) }

// Leave records, from any goroutine, that a frontend does not run tools any more. Its tools stay in the set.
func (b *Toolbox) Leave(f Frontend) {
	b.mailbox.Tell(func() {
		if b.frontend == f {
			b.frontend = nil
		}
	}, nil)
}

// Open begins a turn with the built-in tools as they are now. It returns the tools that the model can call, nil for none.
func (b *Toolbox) Open(builtIn []tools.Tool) *tools.Set {
	present := slices.Clone(builtIn)
	if b.declared != nil {
		for _, t := range b.declared.tools {
			t.Run = b.runner(t.Name)
			present = append(present, t)
		}
	}
	present = append(present, b.offered(present)...)
	gone := b.gone(present)
	if tooLarge(present, gone) {
		gone = nil
	}
	set, err := b.set.With(slices.Concat(present, gone)...)
	if err != nil {
		panic(err) // declarations were checked, and servers offer what is valid
	}
	b.set, b.withdrawn = set, nil
	for i := range gone {
		b.withdrawn = append(b.withdrawn, gone[i].Name)
	}
	if len(present)+len(gone) == 0 {
		return nil
	}
	return set
}

// offered returns the tools of MCP servers, which are added to those in present.
func (b *Toolbox) offered(present []tools.Tool) []tools.Tool {
	if b.servers == nil {
		return nil
	}
	return b.servers.Tools(tools.MaxTools-len(present), func(name string) bool {
		return tools.IsBuiltIn(name) || slices.ContainsFunc(present, func(t tools.Tool) bool { return t.Name == name })
	})
}

// gone returns the tools of the set that are not among those that are present, as tools that say so.
func (b *Toolbox) gone(present []tools.Tool) (gone []tools.Tool) {
	for _, d := range b.set.Definitions() {
		if !slices.ContainsFunc(present, func(t tools.Tool) bool { return t.Name == d.Name }) {
			gone = append(gone, tools.Tool{
				Definition: d, Kind: tools.KindOther, ReadOnly: true,
				Run: func(context.Context, tools.Input) (tools.Result, error) { return withdrawn(d.Name), nil },
			})
		}
	}
	return gone
}

// tooLarge reports whether a set has no room for the tools that are gone.
func tooLarge(present, gone []tools.Tool) bool {
	const most = 2 * MaxDeclaration
	size := 0
	all := slices.Concat(present, gone)
	for i := range all {
		size += all[i].Size()
	}
	return len(all) > tools.MaxTools || size > most
}

// Definitions returns the definitions in the session's requests, by name, and the names of those that are withdrawn.
func (b *Toolbox) Definitions() (all []llm.Tool, withdrawn []string) {
	for _, d := range b.set.Definitions() {
		all = append(all, llm.Tool{Name: d.Name, Description: d.Description, Schema: d.Schema})
	}
	return all, b.withdrawn
}

// LeftOut records that a request was built without the definitions of withdrawn tools.
func (b *Toolbox) LeftOut(names []string) {
	if len(names) == 0 {
		return
	}
	isLeftOut := func(name string) bool { return slices.Contains(names, name) }
	b.set = b.set.Without(isLeftOut)
	b.withdrawn = slices.DeleteFunc(slices.Clone(b.withdrawn), isLeftOut)
}

// withdrawn returns the result of a call of a tool that is no longer there.
func withdrawn(name string) tools.Result {
	return tools.Failed("%s was not run: it is no longer available. Do without it.", name)
}
