package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
	"strata/session/assembly"
	"strata/session/documents"
)

// phased returns an attached client and a session in a phase of the profile phased.
func phased(t *testing.T, ts *testServer, phase string) (*testclient.Editor, string) {
	t.Helper()
	e, sid := attached(t, ts)
	call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "phased"})
	call[map[string]any](ts, e, "session/set_mode", sid, map[string]any{"modeId": phase})
	return e, sid
}

func TestAPhaseNeedsItsDocumentsEverywhere(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := phased(t, ts, "testing")
	for _, name := range []string{"design", "types", "failures"} {
		_, err := e.Prompt(sid, "go")
		if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, fmt.Sprintf("needs the document %q", name)) {
			t.Errorf("prompt: %s", fault.Message)
		}
		err = e.Call("_strata/context/assemble", map[string]any{"sessionId": sid}, nil)
		if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, fmt.Sprintf("needs the document %q", name)) {
			t.Errorf("assemble: %s", fault.Message)
		}
		tokensOf(ts, e, sid)
		if name == "failures" {
			call[map[string]any](ts, e, "_strata/documents/set", sid, map[string]any{"name": name, "failures": []documents.Failure{
				{Name: "parser reads lists", Error: "wrong length", Expected: "3", Received: "4", Stack: "at lists (src/lists.go:12)\nat main"},
			}})
			continue
		}
		set(ts, e, sid, name, "The "+name+".")
	}
	call[documents.Info](ts, e, "_strata/documents/set", sid, map[string]any{
		"name": "parser", "status": "draft", "order": 1, "path": "src/parser.go", "implementation": "package parser // PARSER",
	})
	call[documents.Info](ts, e, "_strata/documents/set", sid, map[string]any{
		"name": "printer", "text": "prints", "status": "approved", "order": 2, "path": "src/printer.go", "implementation": "package printer // PRINTER",
	})
	mustPrompt(t, e, sid, "go")
	logged := call[wire.UsagePage](ts, e, "_strata/usage/list", sid, nil).Calls[0]
	if logged.Phase != "testing" || logged.Documents["design"] == 0 || logged.Documents["failures"] == 0 || logged.Documents["printer"] > 0 {
		t.Errorf("the usage log has phase %q, documents %v", logged.Phase, logged.Documents)
	}
	sent := lastSent(ts)
	for _, want := range []string{
		"# design\\n\\nThe design.", "# failures\\n\\n## parser reads lists\\n\\nError: wrong length\\nExpected: 3\\nReceived: 4\\nStack:\\nat lists (src/lists.go:12)\\nat main\\n",
		"# parser (src/parser.go)\\n\\n```\\npackage parser // PARSER\\n```",
	} {
		if !strings.Contains(sent, want) {
			t.Errorf("the request lacks %q: %s", want, sent)
		}
	}
	if strings.Contains(sent, "PRINTER") {
		t.Error("a unit that no failure names is shown")
	}
}

func TestTheBudgetOfPhases(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e, sid := phased(t, ts, "planning")
	set(ts, e, sid, "design", strings.Repeat("word ", 100))
	mustPrompt(t, e, sid, "go")
	budget := call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil)
	if budget.MaxInputTokens != 100_000 || budget.ReservedOutput != 4_000 || budget.Remaining != 96_000-budget.Used {
		t.Errorf("%+v", budget)
	}
	b := tokensOf(ts, e, sid)
	used := 0
	for i, share := range b.Shares {
		used += share.Used
		if share.Name != budget.Shares[i].Name || share.Share != budget.Shares[i].Share {
			t.Errorf("budget %+v, breakdown %+v", budget.Shares[i], share)
		}
		if share.Name == "design" && (share.Used < 100 || share.Used > 110 || share.Share != 1000) {
			t.Errorf("%+v", share)
		}
	}
	if used != b.Used || len(b.Shares) != 6 {
		t.Errorf("the shares have %d of %d tokens: %+v", used, b.Used, b.Shares)
	}
	report := call[assembly.Report](ts, e, "_strata/context/report", sid, nil)
	if !strings.Contains(report.Text, " of 1K\n") || !strings.Contains(report.Text, "  buffer ") {
		t.Errorf("%s", report.Text)
	}
	if sent := ts.upstream.Last(); !strings.Contains(string(sent.Body), `"max_tokens":4000`) && !strings.Contains(string(sent.Body), `"max_completion_tokens":4000`) {
		t.Errorf("the maximum output is not 4,000 tokens: %.300s", sent.Body)
	}
	call[map[string]any](ts, e, "session/set_config_option", sid, map[string]any{"configId": "profile", "value": "chat"})
	if budget := call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil); budget.MaxInputTokens != 128_000 || budget.Shares != nil {
		t.Errorf("chat: %+v", budget)
	}
}

func TestASmallerModelsWindowRules(t *testing.T) {
	t.Parallel()
	ts := startSmall(t)
	e, sid := phased(t, ts, "planning")
	budget := call[assembly.Budget](ts, e, "_strata/context/budget", sid, nil)
	if budget.MaxInputTokens != smallWindow || budget.ReservedOutput != smallWindow/4 {
		t.Errorf("%+v", budget)
	}
}

func TestUnitsAreStored(t *testing.T) {
	t.Parallel()
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	set := call[documents.Info](ts, e, "_strata/documents/set", sid, map[string]any{
		"name": "parser", "text": "parses", "status": "approved", "order": 4, "path": "src/parser.go", "implementation": "package parser",
	})
	if set.Path != "src/parser.go" || set.ImplementationBytes != 14 || set.Priority != 50 || set.Order != 4 {
		t.Errorf("%+v", set)
	}
	ts.close()
	ts.start()
	if diff := cmp.Diff([]documents.Info{set}, documentsOf(ts, ts.editor(), sid)); diff != "" {
		t.Error(diff)
	}
	err := ts.editor().Call("_strata/documents/set", map[string]any{"sessionId": sid, "name": "x"}, nil)
	if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.Contains(fault.Message, "text is missing") {
		t.Error(fault.Message)
	}
}
