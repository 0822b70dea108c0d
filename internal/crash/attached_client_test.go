package crash

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/internal/testclient"
)

// viewer is an attached client that shows sessions to a user. After lost connections and crashes of the server it
// continues from its last position.
type viewer struct {
	t     *testing.T
	views map[string]*view
	stops bool // servers are stopped: a message that is reported as stored may be cut

	editor   *testclient.Editor // of the current connection
	attached map[string]string  // id of the attach request, to its session
	older    map[string][]message
	next     int // index of the next frame to process
}

// view is a viewer's state of one session.
type view struct {
	place    testclient.Place
	messages []*message
	faults   []string

	told  map[string]string // messages reported as stored: id to text
	reply []string          // ids of the messages of the running turn's reply
}

func newViewer(t *testing.T, sessions ...string) *viewer {
	v := &viewer{t: t, views: make(map[string]*view)}
	for _, s := range sessions {
		v.views[s] = &view{told: make(map[string]string)}
	}
	return v
}

// attach connects and continues where the last connection ended.
func (v *viewer) attach(w *world) {
	v.t.Helper()
	if err := v.tryAttach(w); err != nil {
		v.t.Fatal(err)
	}
}

// tryAttach is attach for a server that may die.
func (v *viewer) tryAttach(w *world) error {
	v.look()
	e, err := w.connect()
	if err != nil {
		return err
	}
	v.editor, v.next = e, 0
	v.attached, v.older = make(map[string]string), make(map[string][]message)
	for session, view := range v.views {
		params := map[string]any{"sessionId": session}
		if view.place.Epoch != "" {
			params["epoch"], params["after"] = view.place.Epoch, view.place.Seq
		}
		request := v.editor.Go("_strata/session/attach", params)
		v.attached[strconv.Itoa(request.ID)] = session
		var answer attachAnswer
		if err := request.Wait(&answer); err != nil {
			return err
		}
		if err := v.readOlder(session, answer.Snapshot.NextCursor); err != nil {
			return err
		}
	}
	return nil
}

type attachAnswer struct {
	Epoch    string
	Seq      uint64
	Complete bool
	Snapshot struct {
		Messages   []history.Message
		NextCursor string
		Running    *struct{ TurnID, MessageID, Text string }
	}
}

// readOlder reads the pages of the transcript before a snapshot.
func (v *viewer) readOlder(session, cursor string) error {
	for cursor != "" {
		var page struct {
			Messages   []history.Message
			NextCursor string
		}
		if err := v.editor.Call("_strata/history/list", map[string]any{"sessionId": session, "limit": 500, "cursor": cursor}, &page); err != nil {
			return err
		}
		v.older[session] = append(all(page.Messages), v.older[session]...)
		cursor = page.NextCursor
	}
	return nil
}

func all(messages []history.Message) []message {
	out := make([]message, len(messages))
	for i := range messages {
		out[i] = shown(&messages[i])
	}
	return out
}

// drop ends the connection without a close frame.
func (v *viewer) drop() { v.editor.Vanish() }

// look processes the received frames.
func (v *viewer) look() {
	if v.editor == nil {
		return
	}
	frames := v.editor.Frames()
	for _, f := range frames[v.next:] {
		v.take(&f)
	}
	v.next = len(frames)
}

func (v *viewer) take(f *testclient.Frame) {
	if f.Method == "" {
		if session, ok := v.attached[string(f.ID)]; ok && f.Error == nil {
			v.views[session].start(f.Result, v.older[session])
		}
		return
	}
	if view := v.views[f.Session]; view != nil {
		view.follow(f)
		view.show(f)
	}
}

// start sets the position at which an attachment starts.
func (s *view) start(raw json.RawMessage, older []message) {
	var answer attachAnswer
	if err := json.Unmarshal(raw, &answer); err != nil {
		s.faults = append(s.faults, err.Error())
		return
	}
	if answer.Complete {
		if answer.Epoch != s.place.Epoch {
			s.faults = append(s.faults, fmt.Sprintf("epoch %s continues completely in %s", s.place.Epoch, answer.Epoch))
		}
		return
	}
	s.place = testclient.Place{Epoch: answer.Epoch, First: answer.Seq, Seq: answer.Seq}
	s.messages, s.reply = nil, nil
	for _, m := range append(older[:len(older):len(older)], all(answer.Snapshot.Messages)...) {
		s.messages = append(s.messages, &m)
	}
	if r := answer.Snapshot.Running; r != nil {
		s.reply = []string{r.MessageID}
		s.messages = append(s.messages, &message{ID: r.MessageID, Role: "assistant", Text: r.Text})
	}
}

// follow records a gap or a repetition.
func (s *view) follow(f *testclient.Frame) {
	if f.Seq == 0 { // text that is no longer in the event log
		return
	}
	if f.Epoch != s.place.Epoch || f.First != s.place.Seq+1 {
		s.faults = append(s.faults, fmt.Sprintf("%s %s %d to %d follows %s %d", f.Kind, f.Epoch, f.First, f.Seq, s.place.Epoch, s.place.Seq))
	}
	s.place = f.Place
}

// show updates the screen with a notification, and records messages reported as stored.
func (s *view) show(f *testclient.Frame) {
	switch f.Kind {
	case testclient.UserChunk:
		s.told[f.Message] = s.write(f, "user")
	case testclient.AgentChunk:
		s.write(f, "assistant")
		if !f.Replay && !slices.Contains(s.reply, f.Message) {
			s.reply = append(s.reply, f.Message)
		}
	case "turn_started":
		s.reply = nil
	case "saved":
		for _, id := range s.reply {
			s.told[id] = s.text(id)
		}
	}
}

// write adds a chunk to its message, and returns the message's text.
func (s *view) write(f *testclient.Frame, role string) string {
	for _, m := range s.messages {
		if m.ID == f.Message {
			m.Text += f.Text
			return m.Text
		}
	}
	s.messages = append(s.messages, &message{ID: f.Message, Role: role, Text: f.Text})
	return f.Text
}

// text returns the shown text of a message, "" if there is none.
func (s *view) text(id string) string {
	for _, m := range s.messages {
		if m.ID == id {
			return m.Text
		}
	}
	return ""
}

// catchUp waits until the viewer has received all events.
func (v *viewer) catchUp(e *testclient.Editor) {
	v.t.Helper()
	for session, s := range v.views {
		var now testclient.Place
		if err := e.Call("_strata/session/info", map[string]any{"sessionId": session}, &now); err != nil {
			v.t.Fatal(err)
		}
		v.look()
		if s.place.Epoch == now.Epoch && s.place.Seq >= now.Seq {
			continue
		}
		v.editor.Expect(testclient.Condition{
			Name: fmt.Sprintf("event %d of %s", now.Seq, session),
			Met: func(fs testclient.Frames) bool {
				p := fs.Place(session)
				return p.Epoch == now.Epoch && p.Seq >= now.Seq
			},
		})
	}
	v.look()
}

// compare checks that the screen shows exactly the stored messages, including all that were reported as stored. Results of
// tools are shown with their calls, and messages of nothing but calls have no text.
func (v *viewer) compare(transcripts map[string][]message) {
	v.t.Helper()
	for session, s := range v.views {
		var got, want []message
		for _, m := range s.messages {
			got = append(got, *m)
		}
		got, want = onScreen(got), onScreen(transcripts[session])
		if diff := gocmp.Diff(want, got); diff != "" {
			v.t.Errorf("an attached client shows for %s (-stored +shown):\n%s", session, diff)
		}
		if len(s.faults) > 0 {
			v.t.Errorf("sequence of %s: %q", session, s.faults)
			s.faults = nil
		}
		kept(v.t, v.ended(transcripts[session]), s.told)
	}
}

// ended returns a transcript in which cut messages count as whole, if servers are stopped.
func (v *viewer) ended(transcript []message) []message {
	transcript = slices.Clone(transcript)
	for i := range transcript {
		if m := &transcript[i]; v.stops && m.Status == string(history.StatusInterrupted) {
			m.Status = string(history.StatusComplete)
		}
	}
	return transcript
}

// onScreen returns what clients show of messages as text.
func onScreen(messages []message) (screen []message) {
	for _, m := range messages {
		if m.Role != string(history.RoleTool) && m.Text != "" {
			screen = append(screen, message{ID: m.ID, Role: m.Role, Text: m.Text})
		}
	}
	return screen
}

// kept checks that every message reported as stored exists.
func kept(t *testing.T, transcript []message, told map[string]string) {
	t.Helper()
	for id, text := range told {
		m, found := find(transcript, id)
		switch {
		case !found:
			t.Errorf("message %s was reported as stored and is missing: %.80q", id, text)
		case m.Text != text || m.Status != string(history.StatusComplete):
			t.Errorf("message %s was reported as stored with %d bytes, but is %s", id, len(text), m)
		}
	}
}
