package wire

import (
	"strconv"

	"strata/history"
	"strata/internal/plainjson"
	"strata/rpc"
	"strata/session/events"
)

// chunk returns the kind and the text of an event that is encoded as a chunk of text. Nearly all events are: those of a
// reply that streams, and those of a transcript that is replayed.
func chunk(e *events.Event) (kind, text string, ok bool) {
	switch {
	case e.Kind == events.Text:
		return chunkOfReply, e.Text, true
	case e.Kind == events.Thought:
		return chunkOfThought, e.Text, true
	case e.Kind == events.Block && e.Block.Type == history.BlockText:
		return chunkOf(e.Role), e.Block.Text, true
	}
	return "", "", false
}

// keptChunk is the maximum size, in bytes, of a buffer that is kept for the next chunk.
const keptChunk = 64 << 10

// chunk returns the notification of a chunk of text: a SessionNotification of a ChunkUpdate, with the bytes that
// encoding/json would write.
func (c *Encoder) chunk(e *events.Event, kind, text string) rpc.Notification {
	b := c.buf[:0]
	b = plainjson.AppendString(append(b, `{"sessionId":`...), c.SessionID)
	b = plainjson.AppendString(append(b, `,"update":{"sessionUpdate":`...), kind)
	b = plainjson.AppendString(append(b, `,"content":{"type":"text","text":`...), text)
	b = plainjson.AppendString(append(b, `},"messageId":`...), e.Message)
	b = plainjson.AppendString(append(b, `},"_meta":{"strata":{"epoch":`...), c.Epoch)
	if e.First != e.Seq && e.First != 0 {
		b = strconv.AppendUint(append(b, `,"first":`...), e.First, 10)
	}
	if e.Seq != 0 {
		b = strconv.AppendUint(append(b, `,"seq":`...), e.Seq, 10)
	} else {
		b = append(b, `,"replay":true`...)
	}
	if c.owns(e) {
		b = append(b, `,"own":true`...)
	}
	b = append(b, `}}}`...)
	if c.buf = b; cap(b) > keptChunk {
		c.buf = nil
	}
	return rpc.Notification{Method: MethodUpdate, Params: b, Seq: e.Seq}
}
