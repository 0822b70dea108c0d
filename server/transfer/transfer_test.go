package transfer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"strata/history"
	"strata/historystore"
	"strata/rpc"
	"strata/server/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// newTestImporter returns an importer on a store of its own.
func newTestImporter(t testing.TB) *Importer {
	t.Helper()
	store, err := historystore.Open(t.Context(), filepath.Join(t.TempDir(), "strata.db"), historystore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	ids := 0
	return NewImporter(Options{
		Store: store, Show: store.ImportShow, Folders: func(dir string) (string, error) { return dir, nil }, Now: func() time.Time { return noon },
		NewID: func(prefix string) string { ids++; return fmt.Sprintf("%s%026d", prefix, ids) },
		Log:   slog.New(slog.DiscardHandler),
	})
}

// firstLines returns a header and messages.
func firstLines(messages ...history.Message) []Line {
	lines := []Line{{Type: "header", Header: &Header{Format: Format, Version: Version, Session: history.Session{
		ID: "sess_old", CWD: "/project", Title: "Old", CreatedAt: noon, UpdatedAt: noon,
	}}}}
	for i := range messages {
		lines = append(lines, Line{Type: "message", Message: &messages[i]})
	}
	return lines
}

func words(seq int64, text string) history.Message {
	return history.Message{
		ID: fmt.Sprintf("msg_%d", seq), Seq: seq, Role: history.RoleUser, At: noon, Status: history.StatusComplete,
		Blocks: []history.Block{{Type: history.BlockText, Text: text}},
	}
}

// A client whose first page is refused never learns the id of the import, so nothing of it may remain.
func TestARefusedFirstPageLeavesNothing(t *testing.T) {
	in := newTestImporter(t)
	const tries = maxOpen + 1
	for range tries {
		_, err := in.Import(t.Context(), ImportPage{Lines: append(firstLines(words(1, "hello")), Line{Type: "unknown"})})
		if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != rpc.CodeInvalidParams {
			t.Fatalf("refused with %v", err)
		}
	}
	if purged, err := in.Store.Purge(t.Context(), noon.AddDate(0, 0, 1)); err != nil || purged != tries {
		t.Errorf("purged %d sessions, error %v", purged, err)
	}
	if _, err := in.Import(t.Context(), ImportPage{Lines: firstLines(), Done: true}); err != nil {
		t.Error(err)
	}
}

// A file of somebody else does not decide what the model may do without asking.
func TestAnImportHasNoApproval(t *testing.T) {
	in := newTestImporter(t)
	lines := firstLines(words(1, "one"))
	lines[0].Header.Session.Config = history.Config{Profile: "loop", Approval: "auto", Rules: []string{"edit_file"}}
	result, err := in.Import(t.Context(), ImportPage{Lines: lines, Done: true})
	if err != nil {
		t.Fatal(err)
	}
	record, err := in.Store.Session(t.Context(), result.SessionID)
	if err != nil || !reflect.DeepEqual(record.Config, history.Config{Profile: "loop"}) {
		t.Errorf("%+v, %v", record.Config, err)
	}
}

// A later page that is refused can be sent again, and the import goes on.
func TestARefusedPageCanBeSentAgain(t *testing.T) {
	in := newTestImporter(t)
	begun, err := in.Import(t.Context(), ImportPage{Lines: firstLines(words(1, "one"))})
	if err != nil || begun.ImportID == "" || begun.SessionID != "" {
		t.Fatalf("begun as %+v, error %v", begun, err)
	}
	if _, err := in.Import(t.Context(), ImportPage{ImportID: begun.ImportID, Lines: []Line{{Type: "message"}}}); err == nil {
		t.Error("a line without its message is accepted")
	}
	second := words(2, "two")
	result, err := in.Import(t.Context(), ImportPage{ImportID: begun.ImportID, Lines: []Line{{Type: "message", Message: &second}}, Done: true})
	if err != nil || result.SessionID != begun.ImportID || result.ImportID != "" {
		t.Fatalf("ended as %+v, error %v", result, err)
	}
	if _, err := in.Import(t.Context(), ImportPage{ImportID: begun.ImportID, Done: true}); err == nil {
		t.Error("an ended import can be continued")
	}
	if got := texts(t, in, result.SessionID); !cmp.Equal(got, []string{"one", "two"}) {
		t.Errorf("imported %q", got)
	}
}

// texts returns the texts of a session's export, read page by page.
func texts(t *testing.T, in *Importer, id string) (all []string) {
	t.Helper()
	for cursor, first := "", true; first || cursor != ""; first = false {
		page, err := Export(t.Context(), in.Store, id, cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range page.Lines {
			if line.Message != nil {
				all = append(all, line.Message.PlainText())
			}
		}
		cursor = page.NextCursor
	}
	return all
}

func TestExportRefusesForeignCursors(t *testing.T) {
	in := newTestImporter(t)
	result, err := in.Import(t.Context(), ImportPage{Lines: firstLines(words(1, "one")), Done: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, cursor := range []string{"x", "m:", "m:-1", "m:one", "12"} {
		_, err := Export(t.Context(), in.Store, result.SessionID, cursor)
		if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != rpc.CodeInvalidParams {
			t.Errorf("cursor %q: %v", cursor, err)
		}
	}
	if page, err := Export(t.Context(), in.Store, result.SessionID, "m:99"); err != nil || len(page.Lines) != 0 || page.NextCursor != "c:" {
		t.Errorf("past the end: %+v, error %v", page, err)
	}
	if _, err := Export(context.Background(), in.Store, "sess_none", ""); !errors.Is(err, history.ErrNotFound) {
		t.Errorf("a session that does not exist: %v", err)
	}
}

func TestHeadersThatAreRefused(t *testing.T) {
	in := newTestImporter(t)
	in.Folders = func(dir string) (string, error) {
		if dir != "/project" {
			return "", errors.New("is not allowed")
		}
		return dir, nil
	}
	header := func(h Header) []Line { return []Line{{Type: "header", Header: &h}} }
	tests := []struct {
		name string
		page ImportPage
		code int
	}{
		{"no line", ImportPage{}, rpc.CodeInvalidParams},
		{"no header", ImportPage{Lines: firstLines(words(1, "x"))[1:]}, rpc.CodeInvalidParams},
		{"another format", ImportPage{Lines: header(Header{Format: "x", Version: Version})}, rpc.CodeInvalidParams},
		{"a newer version", ImportPage{Lines: header(Header{Format: Format, Version: Version + 1})}, rpc.CodeInvalidParams},
		{"a folder that is not allowed", ImportPage{Lines: firstLines(), CWD: "/etc"}, rpc.CodeInvalidParams},
		{"too many lines", ImportPage{Lines: make([]Line, maxImportLines+1)}, rpc.CodeInvalidParams},
		{"an import that was never begun", ImportPage{ImportID: "sess_1"}, wire.CodeNotFound},
	}
	for _, tt := range tests {
		_, err := in.Import(t.Context(), tt.page)
		if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != tt.code {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
}

func TestOwnID(t *testing.T) {
	form := regexp.MustCompile(`^msg_[0-7][0-9A-HJKMNP-TV-Z]{25}$`)
	a := ownID("sess_1", "msg_a")
	if !form.MatchString(a) || a != ownID("sess_1", "msg_a") {
		t.Errorf("msg_a becomes %s, then %s", a, ownID("sess_1", "msg_a"))
	}
	for _, other := range []string{ownID("sess_2", "msg_a"), ownID("sess_1", "msg_b"), ownID("sess_1", "turn_a")} {
		if other == a {
			t.Errorf("two ids become %s", a)
		}
	}
	if ownID("sess_1", "") != "" {
		t.Error("no id becomes one")
	}
	if id := ownID("sess_1", "prefix_8_x"); !strings.HasPrefix(id, "prefix_0") {
		t.Errorf("a short prefix becomes %s", id)
	}
	if id := ownID("sess_1", "eightlet_x"); !strings.HasPrefix(id, "eightlet_0") {
		t.Errorf("the longest prefix becomes %s", id)
	}
	for _, odd := range []string{"without", "very_long_prefix_", "averylongprefix_x"} {
		if id := ownID("sess_1", odd); len(id) > 8+1+26 {
			t.Errorf("%s becomes %s", odd, id)
		}
	}
}
