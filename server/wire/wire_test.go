package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/session"
	"strata/session/finding"
	"strata/session/prompts"
)

func TestDecode(t *testing.T) {
	tests := []struct {
		name, raw string
		into      any
		want      string // in the error; empty for none
	}{
		{"no parameters", "", &SessionParams{}, "params.sessionId is missing"},
		{"no parameters, none needed", "", &ListParams{}, ""},
		{"an unknown field", `{"sessionId":"x","more":1}`, &SessionParams{}, ""},
		{"a wrong type", `{"cwd":1}`, &ListParams{}, "params.cwd: must be a string"},
		{"in an embedded struct", `{"sessionId":1}`, &AddFileParams{}, "params.sessionId: must be a string"},
		{"in one that is embedded twice", `{"sessionId":{}}`, &CountParams{}, "params.sessionId: must be a string"},
		{"below a field", `{"_meta":{"strata":{"promptId":[]}}}`, &PromptParams{}, "params._meta.strata.promptId: must be a string"},
		{"an array", `[1]`, &SessionParams{}, "params: must be an object"},
		{"a checkpoint as the place of a fork", `{"sessionId":"x","at":"cp_1"}`, &ForkParams{}, ""},
		{"no place at all", `{"at":true}`, &ForkParams{}, "at: "},
		{"half a number", `{"at":1.5}`, &ForkParams{}, "at: "},
		{"a constraint", `{"sessionId":"x"}`, &AddFileParams{}, "path is missing"},
		{"a constraint on a value", `{"sessionId":"x","path":"x","state":"partial"}`, &AddFileParams{}, "state: "},
		{"a limit below 1", `{"sessionId":"x","limit":-1}`, &FindParams{}, "limit: -1"},
	}
	for _, tt := range tests {
		err := Decode(json.RawMessage(tt.raw), tt.into)
		if tt.want == "" {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			continue
		}
		fault, ok := errors.AsType[*rpc.Error](err)
		if !ok || fault.Code != rpc.CodeInvalidParams || !strings.Contains(fault.Message, tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

// What is looked for is one thing, with a bounded text, and a message is arranged in one of three ways.
func TestParametersOfAFindAndAnArrangement(t *testing.T) {
	for _, p := range []LocateParams{{}, {MessageID: "msg_1", Path: "a.go"}, {Key: "system", Text: strings.Repeat("a", finding.MaxText+1)}} {
		if _, err := p.Subject(); err == nil {
			t.Errorf("%.80s is taken", fmt.Sprint(p))
		}
	}
	if s, err := (&LocateParams{Path: "a.go", Text: "x"}).Subject(); err != nil || s != (finding.Subject{Path: "a.go", Text: "x"}) {
		t.Errorf("a path is %+v, %v", s, err)
	}
	if _, err := (&ArrangeParams{MessageID: "msg_1", Do: "clear"}).Action(); err == nil {
		t.Error("an unknown action is taken")
	}
	if e := Error(prompts.ErrReplaced); e == nil || e.Code != rpc.CodeCancelled {
		t.Errorf("a replaced draft ends with %v", e)
	}
}

func TestSeqPage(t *testing.T) {
	tests := []struct {
		params PageParams
		before int64
		size   int
		bad    bool
	}{
		{PageParams{}, 0, PageSize, false},
		{PageParams{Limit: 7, Cursor: "12"}, 12, 7, false},
		{PageParams{Limit: MaxPage + 1}, 0, MaxPage, false},
		{PageParams{Limit: -1}, 0, 0, true},
		{PageParams{Cursor: "0"}, 0, 0, true},
		{PageParams{Cursor: "12x"}, 0, 0, true},
	}
	for _, tt := range tests {
		page, err := tt.params.SeqPage()
		if (err != nil) != tt.bad || err == nil && page != (SeqPage{tt.before, tt.size}) {
			t.Errorf("%+v: %+v, error %v", tt.params, page, err)
		}
	}
	if SeqCursor(0) != "" || SeqCursor(12) != "12" {
		t.Errorf("cursors %q, %q", SeqCursor(0), SeqCursor(12))
	}
}

// An error can be several things at once: the more specific one decides.
func TestError(t *testing.T) {
	tests := []struct {
		name string
		err  error
		code int
		text string
	}{
		{"one of ours", fmt.Errorf("x: %w", InvalidParams("name is missing")), rpc.CodeInvalidParams, "name is missing"},
		{"a full disk", fmt.Errorf("%w: %w", session.ErrStorage, historystore.ErrFull), CodeStorage, "the disk or the database is full"},
		{"a damaged database", fmt.Errorf("list sessions: %w: /home/me", historystore.ErrDamaged), CodeStorage, "the database is damaged; run `strata doctor`"},
		{"another failure of the store", fmt.Errorf("%w: disk I/O error of /home/me", session.ErrStorage), CodeStorage, "database access failed"},
		{"a stored failure", &session.StoredError{Failure: history.Failure{Code: CodeProvider, Message: "as it was"}}, CodeProvider, "as it was"},
		{"a missing row", fmt.Errorf("load: %w", history.ErrNotFound), CodeNotFound, "not found"},
		{"a foreign cursor", historystore.ErrCursor, rpc.CodeInvalidParams, "cursor: "},
		{"a session's own words", fmt.Errorf("%w: title: too long", session.ErrInvalid), rpc.CodeInvalidParams, "title: too long"},
	}
	for _, tt := range tests {
		e := Error(tt.err)
		if e == nil || e.Code != tt.code || !strings.Contains(e.Message, tt.text) || strings.Contains(e.Message, "/home/me") {
			t.Errorf("%s: %v", tt.name, e)
		}
	}
	unknown := errors.New("secret of the machine")
	if e := Error(unknown); e != nil {
		t.Errorf("an unknown error becomes %v", e)
	}
	if f, known := Failure(unknown); known || f.Code != rpc.CodeInternal || strings.Contains(f.Message, "secret") {
		t.Errorf("an unknown error is stored as %+v, known: %v", f, known)
	}
}

func TestSessionErrorNamesTheSession(t *testing.T) {
	long := strings.Repeat("x", 300)
	for _, err := range []error{fmt.Errorf("load: %w", history.ErrNotFound), session.ErrClosed} {
		e := Error(SessionError(long, err))
		if e == nil || e.Code != CodeNotFound || len(e.Message) > 150 || !strings.HasPrefix(e.Message, "session xxx") {
			t.Errorf("%v becomes %v", err, e)
		}
	}
	other := errors.New("other")
	if SessionError("sess_1", other) != other || SessionError("sess_1", nil) != nil {
		t.Error("other errors are changed")
	}
}

// FuzzPrompt checks that whatever a client sends as a prompt is refused or becomes blocks that a transcript can hold.
func FuzzPrompt(f *testing.F) {
	for _, seed := range []string{
		`{"prompt":[{"type":"text","text":"hello"}]}`, `{"prompt":[{"type":"text"}]}`, `{"prompt":[{"type":"image","data":"eA==","mimeType":"image/png"}]}`,
		`{"prompt":[{"type":"resource_link","uri":"file:///a","name":"a"}]}`, `{"prompt":[{"type":"resource","resource":{"uri":"file:///a","text":"x"}}]}`,
		`{"prompt":[{"type":"resource","resource":{"uri":"file:///a","blob":"eA=="}}]}`, `{"prompt":[{}]}`, `{"prompt":[null]}`, `{"prompt":{}}`, `null`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var params PromptParams
		if err := Decode(raw, &params); err != nil {
			return
		}
		blocks, err := params.Blocks()
		if err != nil {
			if e := Error(err); e == nil || e.Code != rpc.CodeInvalidParams {
				t.Errorf("%s is refused with %v", raw, err)
			}
			return
		}
		for i := range blocks {
			b := &blocks[i]
			bad := b.Type == history.BlockText && b.Text == "" || b.Type == history.BlockImage && (len(b.Data) == 0 || b.MIME == "") ||
				(b.Type == history.BlockLink || b.Type == history.BlockResource) && b.URI == ""
			if bad {
				t.Errorf("%s becomes %+v", raw, b)
			}
			if _, err := json.Marshal(contentOf(b)); err != nil {
				t.Errorf("%s cannot be shown again: %v", raw, err)
			}
		}
	})
}
