package content

import (
	"context"
	"fmt"

	"strata/history"
	"strata/llm"
)

// Late is a tool result that does not directly follow its calls.
type Late struct{ Message, Calls string } // ids of the messages with the result and with the calls

// maxLate limits the late results in messages that are added together: each is an edit of the view.
const maxLate = 500

// Results checks the tool results in messages that are to be added to a view, and returns those that come late: the view
// shows them behind their calls. The error names the message and the block with a result for a call that the view does not
// have or that has one already.
func (read Reader) Results(ctx context.Context, view []history.Viewed, messages []history.Message) (late []Late, err error) {
	calls, err := read.callsOf(ctx, view, resultsIn(messages))
	if err != nil {
		return nil, err
	}
	for i := range messages {
		of, err := calls.Take(&messages[i])
		if err != nil {
			return nil, &MessageError{fmt.Sprintf("messages[%d].content%s", i, err)}
		}
		if of != "" {
			if len(late) == maxLate {
				return nil, &MessageError{fmt.Sprintf("messages[%d]: more than %d results do not directly follow their calls; put them there", i, maxLate)}
			}
			late = append(late, Late{Message: messages[i].ID, Calls: of})
		}
	}
	return late, nil
}

// Placed returns the edits that move late results among messages, to be stored after these.
func Placed(late []Late, messages []history.Message, newID func(prefix string) string) (edits []history.Edit) {
	for i, l := range late {
		last := &messages[len(messages)-1]
		edits = append(edits, history.Edit{
			ID: newID("edit_"), Seq: last.Seq + 1 + int64(i), Kind: history.EditResult, At: last.At,
			Reason: "late result", Messages: []string{l.Message}, CallsMessage: l.Calls,
		})
	}
	return edits
}

// MessageError says which message of a list cannot be added to a view, and why.
type MessageError struct{ text string }

func (e *MessageError) Error() string { return e.text }

// CheckAll returns a *MessageError for a message that no request to a model can hold.
func CheckAll(messages []history.Message, model *llm.Model) error {
	for i := range messages {
		if err := Check(messages[i].Blocks, model); err != nil {
			return &MessageError{fmt.Sprintf("messages[%d]: %s", i, err)}
		}
	}
	return nil
}

// resultsIn returns the ids of the calls whose results messages contain.
func resultsIn(messages []history.Message) map[string]bool {
	ids := make(map[string]bool)
	for i := range messages {
		for j := range messages[i].Blocks {
			if b := &messages[i].Blocks[j]; b.Type == history.BlockToolResult {
				ids[b.CallID] = true
			}
		}
	}
	return ids
}

// callsPage limits the messages that are read at once to find calls, in bytes.
const callsPage = 256 << 10

// callsOf returns the newest calls of a view with the wanted ids. It reads backwards, only as far as it has to, and only
// messages with calls or results.
func (read Reader) callsOf(ctx context.Context, view []history.Viewed, wanted map[string]bool) (history.Calls, error) {
	var calls history.Calls
	calls.Follow(openCalls(view))
	answered := make(map[string]bool)
	for end := len(view); end > 0 && len(wanted) > 0; {
		var page []history.Viewed // newest first
		for size := 0; end > 0 && size < callsPage; end-- {
			if v := view[end-1]; v.HasCalls || v.Role == history.RoleTool {
				page, size = append(page, v), size+v.Bytes
			}
		}
		messages, err := read.View(ctx, page)
		if err != nil {
			return calls, err
		}
		for i := range messages {
			m := &messages[i]
			for j := range m.Blocks {
				switch b := &m.Blocks[j]; {
				case !wanted[b.CallID]:
				case b.Type == history.BlockToolResult:
					answered[b.CallID] = true
				case b.Type == history.BlockToolCall:
					calls.Know(b.CallID, m.ID, answered[b.CallID])
					delete(wanted, b.CallID)
				}
			}
		}
	}
	return calls, nil
}

// openCalls returns the id of the message with calls that nothing but results follows, empty for none.
func openCalls(view []history.Viewed) string {
	i := len(view) - 1
	for i >= 0 && view[i].Role == history.RoleTool {
		i--
	}
	if i < 0 || !view[i].HasCalls {
		return ""
	}
	return view[i].ID
}
