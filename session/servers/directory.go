package servers

import (
	"cmp"
	"slices"
	"sync"

	"strata/internal/clip"
)

// Directory lists the configured MCP servers, and all uses of servers by sessions. It is safe for concurrent use. A nil
// directory has no servers.
type Directory struct {
	source     Source
	configured []Definition
	changed    func()

	mu   sync.Mutex
	uses map[*listed]struct{}
	made uint64 // number of uses so far
}

// listed is a session's use of a server in the directory.
type listed struct {
	Server
	definition Definition
	number     uint64 // of the use
	release    func()
}

// Release implements Server.
func (l *listed) Release() { l.release() }

// NewDirectory returns a directory without uses. source runs the servers. changed is called after each change of the list,
// from any goroutine; it must not block.
func NewDirectory(source Source, configured []Definition, changed func()) *Directory {
	return &Directory{source: source, configured: configured, changed: changed, uses: make(map[*listed]struct{})}
}

// Use implements Source.
func (d *Directory) Use(definition Definition, at Place, changed func()) Server {
	server := d.source.Use(definition, at, func() {
		changed()
		d.changed()
	})
	l := &listed{Server: server, definition: definition}
	l.release = sync.OnceFunc(func() {
		d.mu.Lock()
		delete(d.uses, l)
		d.mu.Unlock()
		server.Release()
		d.changed()
	})
	d.mu.Lock()
	d.made++
	l.number = d.made
	d.uses[l] = struct{}{}
	d.mu.Unlock()
	d.changed()
	return l
}

// Origin is the origin of a definition.
type Origin string

// The origins of definitions.
const (
	FromConfig Origin = "config"
	FromClient Origin = "client"
)

// Unused is the status of a configured server that no session uses.
const Unused Status = "unused"

// Listed is a server in the list: the uses of one definition by all sessions.
type Listed struct {
	Definition
	Origin   Origin
	State    // its tools have no schemas, and their texts are truncated
	Sessions int
}

// The bounds of the list.
const (
	maxListed      = 256  // servers
	maxListedTools = 4096 // of all servers together
	maxListedText  = 1024 // bytes of a text
)

// List returns all configured servers and all servers that sessions use, sorted by name.
func (d *Directory) List() []Listed {
	if d == nil {
		return nil
	}
	var all []Listed
	for i := range d.configured {
		all = append(all, Listed{Definition: d.configured[i], Origin: FromConfig, State: State{Status: Unused}})
	}
	byName := make(map[string][]int) // places in all
	for i := range all {
		byName[all[i].Name] = append(byName[all[i].Name], i)
	}
	for _, use := range d.inOrder() {
		at := slices.IndexFunc(byName[use.definition.Name], func(i int) bool { return all[i].Definition.Equal(&use.definition) })
		if at >= 0 {
			all[byName[use.definition.Name][at]].add(use.State())
			continue
		}
		if len(all) >= maxListed {
			continue
		}
		byName[use.definition.Name] = append(byName[use.definition.Name], len(all))
		one := Listed{Definition: use.definition, Origin: FromClient, State: State{Status: Unused}}
		one.add(use.State())
		all = append(all, one)
	}
	slices.SortStableFunc(all, func(a, b Listed) int { return cmp.Compare(a.Name, b.Name) })
	room := maxListedTools
	for i := range all {
		all[i].Tools = shownTools(all[i].Tools, room)
		room -= len(all[i].Tools)
	}
	return all
}

// inOrder returns the uses, the oldest first.
func (d *Directory) inOrder() []*listed {
	d.mu.Lock()
	defer d.mu.Unlock()
	var all []*listed
	for use := range d.uses {
		all = append(all, use)
	}
	slices.SortFunc(all, func(a, b *listed) int { return cmp.Compare(a.number, b.number) })
	return all
}

// add adds a use. Of several states the worst counts.
func (l *Listed) add(s State) {
	l.Sessions++
	if len(l.Tools) == 0 {
		l.Tools = s.Tools
	}
	if worse(s.Status) > worse(l.Status) {
		l.Status, l.Error = s.Status, s.Error
	}
}

// worse returns a number that is higher for a worse status.
func worse(s Status) int { return slices.Index([]Status{Unused, Ready, Starting, Failed}, s) }

// shownTools returns what the list has of tools, at most room of them.
func shownTools(all []Tool, room int) []Tool {
	all = all[:min(len(all), room)]
	shown := make([]Tool, len(all))
	for i, t := range all {
		shown[i] = Tool{
			Name: clip.Bytes(t.Name, maxListedText), Title: clip.Bytes(t.Title, maxListedText), Description: clip.Bytes(t.Description, maxListedText),
		}
	}
	return shown
}
