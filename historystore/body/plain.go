package body

import (
	"slices"
	"strings"

	"strata/history"
)

// The members that a plain message and its blocks have.
var (
	messageNames = []string{"id", "seq", "turnId", "role", "blocks", "tokens", "at", "model", "status"}
	blockNames   = []string{"type", "text", "uri", "name", "mimeType", "signature", "callId", "args", "incomplete", "isError", "content", "call"}
	callNames    = []string{"title", "kind", "locations"}
	placeNames   = []string{"path", "line"}
)

// plain decodes a message without pictures and members for one provider or client. For all others it returns false.
func (d *Decoder) plain(body string) (m history.Message, ok bool) {
	r := &d.reader
	r.Rest = body
	ok = r.Object(messageNames, func(name string) (ok bool) {
		switch name {
		case "id":
			m.ID, ok = d.short()
		case "seq":
			var n int
			n, ok = r.Number()
			m.Seq = int64(n)
		case "turnId":
			m.Turn, ok = d.same(&d.turn)
		case "role":
			m.Role, ok = read(d, roles)
		case "blocks":
			d.blocks = d.blocks[:0]
			ok = r.Array(func() bool { return d.block(&d.blocks, true) })
			m.Blocks = slices.Clone(d.blocks)
		case "tokens":
			m.Tokens, ok = r.Number()
		case "at":
			var at string
			at, ok = r.Bare()
			ok = ok && m.At.UnmarshalText([]byte(at)) == nil
		case "model":
			m.Model, ok = d.same(&d.model)
		case "status":
			m.Status, ok = read(d, statuses)
		}
		return ok
	})
	return m, ok && r.Ended()
}

// The values of enumerations that are common. Others are decoded in full.
var (
	roles    = []history.Role{history.RoleUser, history.RoleAssistant, history.RoleTool}
	statuses = []history.MessageStatus{
		history.StatusComplete, history.StatusCancelled, history.StatusInterrupted, history.StatusFailed,
	}
	types = []history.BlockType{
		history.BlockText, history.BlockThinking, history.BlockToolCall, history.BlockToolResult, history.BlockLink, history.BlockResource,
	}
)

// read reads one of the given values.
func read[T ~string](d *Decoder, values []T) (value T, ok bool) {
	text, ok := d.reader.Bare()
	i := slices.Index(values, T(text))
	if !ok || i < 0 {
		return "", false
	}
	return values[i], true
}

// short reads a text as a copy, so that it does not keep the body in memory.
func (d *Decoder) short() (text string, ok bool) {
	text, ok = d.reader.Text()
	return strings.Clone(text), ok
}

// same is short for a text that is mostly the one of the last message.
func (d *Decoder) same(last *string) (text string, ok bool) {
	text, ok = d.reader.Text()
	if text != *last {
		*last = strings.Clone(text)
	}
	return *last, ok
}

// block reads a block and appends it. Only a block of a message has content.
func (d *Decoder) block(blocks *[]history.Block, outer bool) bool {
	r := &d.reader
	var b history.Block
	ok := r.Object(blockNames, func(name string) (ok bool) {
		switch name {
		case "type":
			b.Type, ok = read(d, types)
		case "text":
			b.Text, ok = r.Text()
		case "uri":
			b.URI, ok = r.Text()
		case "name":
			b.Name, ok = r.Text()
		case "mimeType":
			b.MIME, ok = r.Text()
		case "signature":
			b.Signature, ok = r.Text()
		case "callId":
			b.CallID, ok = r.Text()
		case "args":
			b.Args, ok = r.Text()
		case "incomplete":
			b.Incomplete, ok = true, r.True()
		case "isError":
			b.IsError, ok = true, r.True()
		case "content":
			ok = outer && r.Array(func() bool { return d.block(&b.Content, false) })
		case "call":
			b.Call = &history.CallShown{}
			ok = d.call(b.Call)
		}
		return ok
	})
	*blocks = append(*blocks, b)
	return ok
}

// call reads what clients were shown of a call.
func (d *Decoder) call(call *history.CallShown) bool {
	r := &d.reader
	return r.Object(callNames, func(name string) (ok bool) {
		switch name {
		case "title":
			call.Title, ok = r.Text()
		case "kind":
			call.Kind, ok = r.Text()
		case "locations":
			ok = r.Array(func() bool { return d.location(&call.Locations) })
		}
		return ok
	})
}

// location reads a location and appends it.
func (d *Decoder) location(locations *[]history.Location) bool {
	r := &d.reader
	var l history.Location
	ok := r.Object(placeNames, func(name string) (ok bool) {
		switch name {
		case "path":
			l.Path, ok = r.Text()
		case "line":
			l.Line, ok = r.Number()
		}
		return ok
	})
	*locations = append(*locations, l)
	return ok
}
