package llm

// calls are the tool calls of a conversation so far, or of a part of it.
type calls struct {
	ids    map[string]string // with which they are sent, by our ids
	used   map[string]bool   // those ids
	names  map[string]string // of the tools, by the ids with which the calls are sent
	before *calls            // those of a kept beginning, which are only read; nil for none
}

// id returns the id with which the call with an id of ours is sent.
func (c *calls) id(callID string) (id string, ok bool) {
	for ; c != nil && !ok; c = c.before {
		id, ok = c.ids[callID]
	}
	return id, ok
}

// uses reports whether a call is sent with an id.
func (c *calls) uses(id string) bool {
	return c != nil && (c.used[id] || c.before.uses(id))
}

// named returns the name of the tool of the call that is sent with an id.
func (c *calls) named(id string) (name string, ok bool) {
	for ; c != nil && !ok; c = c.before {
		name, ok = c.names[id]
	}
	return name, ok
}

// send notes the id with which a call is sent.
func (c *calls) send(callID, id string) {
	if c.ids == nil {
		c.ids, c.used = make(map[string]string), make(map[string]bool)
	}
	c.ids[callID], c.used[id] = id, true
}

// name notes the name of the tool of a call.
func (c *calls) name(id, name string) {
	if c.names == nil {
		c.names = make(map[string]string)
	}
	c.names[id] = name
}

// add adds the calls that a turn adds.
func (c *calls) add(turn *calls) {
	for callID, id := range turn.ids {
		c.send(callID, id)
	}
	for id, name := range turn.names {
		c.name(id, name)
	}
}
