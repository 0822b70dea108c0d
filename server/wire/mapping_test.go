package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/historystore"
	"strata/llm"
	"strata/rpc"
	"strata/session"
	"strata/session/approval"
	"strata/session/assembly"
	"strata/session/choices"
	"strata/session/clients"
	"strata/session/compacting"
	"strata/session/documents"
	"strata/session/events"
	"strata/session/profile"
	"strata/session/workspace"
)

// encoded returns a value as it is on the wire.
func encoded(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// Limits are what is accepted, and a block needs what a provider needs of it.
func TestPromptsWithinTheirLimits(t *testing.T) {
	text := func(words string) ContentBlock { return textBlock(words) }
	withID := func(n int) string { return fmt.Sprintf(`{"strata":{"promptId":%q}}`, strings.Repeat("x", n)) }
	picture := ContentBlock{Type: "image", Data: []byte("x"), MIMEType: "image/png", URI: "file:///a.png"}
	noType := picture
	noType.MIMEType = ""
	for name, tt := range map[string]struct {
		prompt []ContentBlock
		meta   string
		want   int // blocks
		err    string
	}{
		"as many blocks as may": {slices.Repeat([]ContentBlock{text("x")}, maxBlocks), `{}`, maxBlocks, ""},
		"one more":              {slices.Repeat([]ContentBlock{text("x")}, maxBlocks+1), `{}`, 0, "prompt: 1001 blocks"},
		"empty text":            {[]ContentBlock{text(""), text("x"), text("")}, `{}`, 1, ""},
		"a picture":             {[]ContentBlock{picture}, `{}`, 1, ""},
		"one without a type":    {[]ContentBlock{text("x"), noType}, `{}`, 0, "prompt[1].mimeType is missing"},
		"the longest id":        {[]ContentBlock{text("x")}, withID(MaxPromptID), 1, ""},
		"a longer one":          {[]ContentBlock{text("x")}, withID(MaxPromptID + 1), 0, "_meta.strata.promptId: 201 bytes"},
	} {
		var p PromptParams
		if err := Decode(json.RawMessage(fmt.Sprintf(`{"sessionId":"s","prompt":%s,"_meta":%s}`, encoded(t, tt.prompt), tt.meta)), &p); err != nil {
			t.Fatal(err)
		}
		blocks, err := p.Blocks()
		if len(blocks) != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %d blocks, %v", name, len(blocks), err)
		}
	}
}

// What a client sends in a block comes back in an update.
func TestBlocksThereAndBack(t *testing.T) {
	words := "text"
	for _, c := range []ContentBlock{
		textBlock("hello"), {Type: "image", Data: []byte("x"), MIMEType: "image/png", URI: "file:///a.png"},
		{Type: "resource_link", URI: "file:///a", Name: "a", MIMEType: "text/plain"},
		{Type: "resource", Resource: &EmbeddedResource{URI: "file:///a", MIMEType: "text/plain", Text: &words}},
	} {
		b, err := c.block()
		if diff := cmp.Diff(c, contentOf(&b)); diff != "" || err != nil {
			t.Errorf("%v, %s", err, diff)
		}
	}
}

func TestMessagesThatAreAppended(t *testing.T) {
	message := AppendedMessage{Role: history.RoleUser, Content: json.RawMessage(`"hello"`)}
	for n, want := range map[int]bool{0: false, 1: true, maxMessages: true, maxMessages + 1: false} {
		p := CountParams{AppendParams: AppendParams{Messages: slices.Repeat([]AppendedMessage{message}, n)}}
		got, err := p.AppendParams.History()
		if (err == nil) != want || err == nil && len(got) != n {
			t.Errorf("%d messages: %d, %v", n, len(got), err)
		}
		if got, err := p.History(); err != nil || len(got) != n { // a text can be counted alone
			t.Errorf("%d messages to count: %d, %v", n, len(got), err)
		}
		replace := ReplaceParams{Messages: p.Messages}
		if got, err := replace.History(); err != nil || len(got) != n {
			t.Errorf("%d messages of the whole history: %d, %v", n, len(got), err)
		}
	}
	commit := CommitParams{Message: &message, Messages: []AppendedMessage{{Role: history.RoleAssistant, Content: json.RawMessage(`"second"`)}}}
	request, err := commit.Request()
	if err != nil || len(request.Messages) != 2 || request.Messages[0].Role != history.RoleUser {
		t.Errorf("%+v, %v", request, err)
	}
	for _, u := range []history.Usage{{Input: -1}, {Output: -1}, {CacheRead: -1}, {CacheWrite: -1}} {
		commit.Usage = &u
		if _, err := commit.Request(); err == nil {
			t.Errorf("%+v is accepted", u)
		}
	}
}

// The data of an error is what a client acts on.
func TestErrorsCarryTheirData(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		want string
	}{
		"a provider":  {&llm.Error{Kind: llm.KindOverloaded, Status: 529, RetryAfter: 3 * time.Second, Partial: true}, `{"status":529,"retryAfterMs":3000,"partial":true,"kind":"overloaded"}`},
		"stored":      {&session.StoredError{Failure: history.Failure{Code: CodeProvider, Data: json.RawMessage(`{"status":529}`)}}, `{"status":529}`},
		"stored bare": {&session.StoredError{Failure: history.Failure{Code: CodeProvider}}, `null`},
		"storage":     {historystore.ErrBusy, `{"reason":"the database is locked by another process; try again"}`},
		"overload":    {session.ErrOverload, `null`},
		"busy":        {&session.BusyError{TurnID: "turn_1"}, `{"turnId":"turn_1"}`},
		"budget":      {&assembly.BudgetError{Tokens: 7, Limit: 5}, `{"limit":5,"tokens":7}`},
	} {
		e := Error(tt.err)
		if e == nil {
			t.Fatalf("%s: not known", name)
		}
		if got := encoded(t, e.Data); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// A message says what the view does with it, unless that is nothing.
func TestVisibilityOfMessages(t *testing.T) {
	patch := func(kind history.EditKind) history.ShownPatch {
		return history.ShownPatch{Patch: history.Patch{Block: 1, Part: 2, Text: "short", Saved: 9}, Kind: kind}
	}
	fates := []history.Visibility{
		{InView: true}, {Reason: "summarised", Edit: "edit_1"}, {InView: true, Patches: []history.ShownPatch{patch(history.EditDedupe), patch(history.EditTruncate)}},
	}
	messages := newMessages(make([]history.Message, 3), fates, nil)
	shown := func(state string) Patch { return Patch{Block: 1, Part: 2, Text: "short", Saved: 9, State: state} }
	want := []*View{nil, {State: "summarised", EditID: "edit_1"}, {Patches: []Patch{shown("duplicate"), shown("shortened")}}}
	for i := range want {
		if diff := cmp.Diff(want[i], messages[i].View); diff != "" || messages[i].InView != fates[i].InView {
			t.Errorf("message %d, in view %t: %s", i, messages[i].InView, diff)
		}
	}
}

func TestSearchesAndTheirHits(t *testing.T) {
	for role, want := range map[string]bool{"": true, "user": true, "tool": true, "system": false} {
		p := SearchParams{PageParams: PageParams{Limit: 7, Cursor: "c"}, Query: "q", Role: role, FolderScope: FolderScope{CWD: "/w"}, SessionID: "s"}
		q, err := p.SearchQuery()
		if (err == nil) != want {
			t.Errorf("role %q: %v", role, err)
		} else if full := (historystore.SearchQuery{Query: "q", Role: history.Role(role), Session: "s", Cursor: "c", Limit: 7}); want && !cmp.Equal(q, full) {
			t.Errorf("role %q: %+v", role, q)
		}
	}
	hits := []historystore.Hit{{Session: "sess_1", Message: "msg_1", Seq: 4, Role: history.RoleUser, Snippet: "a word", Score: 0.5}}
	hits[0].Marks = []historystore.Mark{{Start: 2, End: 6}}
	want := `{"hits":[{"sessionId":"sess_1","title":"","messageId":"msg_1","seq":4,"role":"user","at":"0001-01-01T00:00:00Z","snippet":"a word","marks":[[2,6]],"score":0.5}],"nextCursor":"n","behind":3}`
	if diff := cmp.Diff(want, encoded(t, NewSearchPage(historystore.Found{Hits: hits, Next: "n", Behind: 3}))); diff != "" {
		t.Error(diff)
	}
}

// Each field of a request reaches the session.
func TestRequestsToASession(t *testing.T) {
	words, yes, one := "unsaved", true, 1
	lines := &workspace.FileRange{Start: 1, End: 2}
	for name, tt := range map[string]struct {
		raw  string
		into interface{ validate() error }
		got  func(any) any
		want any
	}{
		"a file": {`{"sessionId":"s","path":"a","content":"unsaved","state":"full","range":{"start":1,"end":2},"once":true,"pinned":true,"lineNumbers":true}`, &AddFileParams{},
			func(p any) any { return p.(*AddFileParams).Request() }, workspace.FileRequest{Path: "a", Content: &words, Range: lines, Once: true, Pinned: &yes, LineNumbers: true}},
		"an outline": {`{"sessionId":"s","path":"a","state":"summary"}`, &AddFileParams{}, func(p any) any { return p.(*AddFileParams).Request() }, workspace.FileRequest{Path: "a", Summary: true}},
		"a document": {`{"sessionId":"s","name":"n","text":"unsaved","priority":1,"pinned":true,"phases":["p"],"status":"s","order":3,"path":"f"}`, &DocumentParams{},
			func(p any) any { return p.(*DocumentParams).Request() },
			documents.Request{Name: "n", Text: "unsaved", Priority: &one, Pinned: &yes, Phases: []string{"p"}, Status: "s", Order: 3, Path: "f"}},
		"an implementation alone": {`{"sessionId":"s","name":"n","implementation":"code"}`, &DocumentParams{}, func(p any) any { return p.(*DocumentParams).Request() },
			documents.Request{Name: "n", Implementation: "code"}},
	} {
		if err := Decode(json.RawMessage(tt.raw), tt.into); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, tt.got(tt.into)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	if err := Decode(json.RawMessage(`{"name":"n"}`), &DocumentParams{}); err == nil {
		t.Error("a document without a text is accepted")
	}
	restore := RestoreParams{CheckpointID: "cp_1", Seq: 3, Before: "msg_1", At: time.Unix(7, 0)}
	if got := restore.Request(); got != (session.RestoreRequest{Checkpoint: "cp_1", Seq: 3, Before: "msg_1", At: time.Unix(7, 0)}) {
		t.Errorf("%+v", got)
	}
}

// update returns the update of an event, or the parameters of an event that is not one.
func update(t *testing.T, e events.Event, client Capabilities) string {
	t.Helper()
	c := Encoder{SessionID: "s", Epoch: "e", Client: client, Models: func() []Model { return nil }}
	n, ok, err := c.Encode(&e)
	if err != nil {
		t.Fatal(err)
	}
	if !ok {
		return ""
	}
	return string(n.Params)
}

func TestUpdatesOfEvents(t *testing.T) {
	const meta = `"_meta":{"strata":{"epoch":"e","seq":9}}}`
	call := func(args string, incomplete bool) *history.Block {
		return &history.Block{Type: history.BlockToolCall, CallID: "c", Name: "read", Args: args, Incomplete: incomplete}
	}
	result := func(failed bool) *history.Block {
		return &history.Block{Type: history.BlockToolResult, CallID: "c", IsError: failed, Content: []history.Block{{Type: history.BlockText, Text: "x"}}}
	}
	lost := result(true)
	lost.Call = &history.CallShown{Title: "read", Kind: "other", Outcome: history.CallLost}
	words := &history.Block{Type: history.BlockText, Text: "x"}
	all := Capabilities{Notices: true, Compaction: true}
	at := func(e events.Event) events.Event {
		e.First, e.Seq = 9, 9
		return e
	}
	compacted := func(outcome string) events.Event {
		return at(events.Event{Kind: events.CompactionUpdate, Data: compacting.Result{ID: "cmp_1", Outcome: outcome, Reason: "why"}})
	}
	status := func(status, more string) string {
		return `{"sessionId":"s","update":{"sessionUpdate":"compaction_update","compactionId":"cmp_1","status":"` + status + `","summary":[]` + more + `},` + meta
	}
	toolCall := func(status, input string) string {
		return `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"read","kind":"other","status":"` + status + `","rawInput":` + input + `,"_meta":{"strata":{"messageId":"m"}}},` + meta
	}
	toolResult := func(status string) string {
		return `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"` + status + `","content":[{"type":"content","content":{"type":"text","text":"x"}}]},` + meta
	}
	lostResult := strings.NewReplacer(`"toolCallId":"c",`, `"toolCallId":"c","title":"read","kind":"other",`, `"text":"x"}}]}`, `"text":"x"}}],"_meta":{"strata":{"outcome":"lost"}}}`).Replace(toolResult("failed"))
	chunk := func(kind, meta string) string {
		return `{"sessionId":"s","update":{"sessionUpdate":"` + kind + `","content":{"type":"text","text":"x"},"messageId":"m"},` + meta
	}
	for name, tt := range map[string]struct {
		event  events.Event
		client Capabilities
		want   string
	}{
		"a call":              {at(events.Event{Kind: events.Block, Message: "m", Block: call(`{"a":1}`, false)}), all, toolCall("pending", `{"a":1}`)},
		"one that was cut":    {at(events.Event{Kind: events.Block, Message: "m", Block: call(`{"a`, true)}), all, toolCall("failed", `"{\"a"`)},
		"a result":            {at(events.Event{Kind: events.Block, Block: result(false)}), all, toolResult("completed")},
		"an error":            {at(events.Event{Kind: events.Block, Block: result(true)}), all, toolResult("failed")},
		"a lost result":       {at(events.Event{Kind: events.Block, Block: lost}), all, lostResult},
		"the user's words":    {at(events.Event{Kind: events.Block, Message: "m", Role: history.RoleUser, Block: words}), all, chunk("user_message_chunk", meta)},
		"the assistant's":     {at(events.Event{Kind: events.Block, Message: "m", Role: history.RoleAssistant, Block: words}), all, chunk("agent_message_chunk", meta)},
		"merged deltas":       {events.Event{Kind: events.Text, Message: "m", Text: "x", First: 4, Seq: 9}, all, chunk("agent_message_chunk", `"_meta":{"strata":{"epoch":"e","first":4,"seq":9}}}`)},
		"replayed":            {events.Event{Kind: events.Thought, Message: "m", Text: "x"}, all, chunk("agent_thought_chunk", `"_meta":{"strata":{"epoch":"e","replay":true}}}`)},
		"compacted":           {compacted("compacted"), all, status("completed", "")},
		"no gain":             {compacted("no_gain"), all, status("completed", "")},
		"nothing to do":       {compacted("nothing_to_do"), all, status("completed", "")},
		"failed":              {compacted("failed"), all, status("failed", `,"error":"why"`)},
		"superseded":          {compacted("superseded"), all, status("cancelled", "")},
		"running":             {compacted("running"), all, status("in_progress", "")},
		"not for this client": {compacted("running"), Capabilities{Notices: true}, ""},
		"a notice":            {at(events.Event{Kind: events.Notice, Text: "n"}), all, `{"sessionId":"s","update":{"sessionUpdate":"notice","severity":"warning","title":"n"},` + meta},
		"not for this one":    {at(events.Event{Kind: events.Notice, Text: "n"}), Capabilities{Compaction: true}, ""},
		"an event of ours":    {events.Event{Kind: "saved", Turn: "turn_1", First: 7, Seq: 9}, Capabilities{}, `{"epoch":"e","first":7,"seq":9,"sessionId":"s","turnId":"turn_1","type":"saved"}`},
		"without a turn":      {at(events.Event{Kind: "saved"}), Capabilities{}, `{"epoch":"e","seq":9,"sessionId":"s","type":"saved"}`},
	} {
		if diff := cmp.Diff(tt.want, update(t, tt.event, tt.client)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A choice is offered if there is one, and what is in force is always among the choices.
func TestOptionsOnOffer(t *testing.T) {
	models := []Model{{Name: "local/a", Title: "A"}, {Name: "local/b", Title: "B"}}
	offered := func(model string, levels ...llm.ThoughtLevel) map[string]string {
		i := session.Info{Config: history.Config{Model: model}, Model: llm.Model{Thought: levels}}
		all := make(map[string]string)
		for _, o := range ConfigOptions(i, models) {
			var values []string
			for _, v := range o.Options {
				values = append(values, v.Value)
			}
			all[o.ID] = strings.Join(values, " ")
		}
		return all
	}
	if got := offered("local/b", "off")[choices.OptionModel]; got != "local/a local/b" {
		t.Errorf("models %q", got)
	}
	if got := offered("gone/c", "off")[choices.OptionModel]; got != "gone/c local/a local/b" {
		t.Errorf("models %q with one in force that is not on offer", got)
	}
	if got, is := offered("local/b", "off")[choices.OptionThought]; is {
		t.Errorf("of one thought level %q are offered", got)
	}
	if got := offered("local/b", "off", "high")[choices.OptionThought]; got != "off high" {
		t.Errorf("thought levels %q", got)
	}
	if _, is := offered("local/b")[choices.OptionMode]; is {
		t.Error("a profile without phases offers some")
	}
}

func TestPermissionAnswers(t *testing.T) {
	long := strings.Repeat("x", clients.MaxWords+1)
	for raw, want := range map[string]struct {
		clients.Answer
		err string
	}{
		`{"outcome":{"outcome":"selected","optionId":"a"},"more":1}`:                                      {clients.Answer{OptionID: "a"}, ""},
		`{"outcome":{"outcome":"selected","optionId":"a"},"_meta":null}`:                                  {clients.Answer{OptionID: "a"}, ""},
		`{"outcome":{"outcome":"selected","optionId":"a"},"_meta":{"strata":{"message":"` + long + `"}}}`: {clients.Answer{OptionID: "a", Words: long[1:]}, ""},
		`{"outcome":{"outcome":"selected"}}`:                                                              {clients.Answer{}, ""}, // no such option
		`{"outcome":{"outcome":"cancelled","optionId":"a"}}`:                                              {clients.Answer{}, "cancelled the question"},
		`{"outcome":{"outcome":"other"}}`:                                                                 {clients.Answer{}, "result.outcome.outcome: must be selected or cancelled"},
		`{"outcome":{}}`:                                                                                  {clients.Answer{}, "result.outcome.outcome"},
		`{"outcome":"selected"}`:                                                                          {clients.Answer{}, "result.outcome"},
		`{}`:                                                                                              {clients.Answer{}, "result.outcome"},
		`null`:                                                                                            {clients.Answer{}, "result.outcome"},
		`{"outcome":{"outcome":"selected","optionId":7}}`:                                                 {clients.Answer{}, "result.outcome.optionId"},
	} {
		got, err := PermissionAnswer(json.RawMessage(raw))
		if got != want.Answer || (err == nil) != (want.err == "") || err != nil && !strings.Contains(err.Error(), want.err) {
			t.Errorf("%.80s: got %.80v, %v, want %s", raw, got, err, want.err)
		}
	}
}

// One option has the category mode, and its values are the modes: the phases, or those of approval without phases.
func TestTheModesOfASession(t *testing.T) {
	phases := []profile.Phase{{ID: "plan", Title: "Plan"}, {ID: "build", Title: "Build"}}
	for name, test := range map[string]struct {
		info    session.Info
		options string // the last ones, with their category
		modes   string // the current one first
	}{
		"without phases": {session.Info{Config: history.Config{Approval: "edits"}}, "approval:mode", "edits: read-only ask edits auto"},
		"with phases":    {session.Info{Config: history.Config{Approval: "edits", Mode: "build"}, Phases: phases}, "mode:mode approval:", "build: plan build"},
	} {
		var got []string
		for _, o := range ConfigOptions(test.info, nil)[3:] {
			got = append(got, o.ID+":"+o.Category)
		}
		state := Modes(test.info)
		modes := state.Current + ":"
		for _, m := range state.Modes {
			modes += " " + m.ID
		}
		if strings.Join(got, " ") != test.options || modes != test.modes {
			t.Errorf("%s: options %v, modes %s", name, got, modes)
		}
	}
	for i, mode := range approval.Modes() {
		if i >= len(approvals) || approvals[i].ID != string(mode) {
			t.Errorf("approval %s is not offered", mode)
		}
	}
}

func TestRefusalsAreInvalidParams(t *testing.T) {
	tool := ToolParams{Name: "read"}
	for name, p := range map[string]AssembleParams{
		"two of one name":        {Tools: []ToolParams{tool, tool}},
		"no schema of an object": {Tools: []ToolParams{{Name: "a", InputSchema: json.RawMessage(`[]`)}}},
		"too many":               {Tools: slices.Repeat([]ToolParams{tool}, maxTools+1)},
	} {
		_, err := p.SessionTools()
		if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != rpc.CodeInvalidParams {
			t.Errorf("%s: %v", name, err)
		}
	}
}
