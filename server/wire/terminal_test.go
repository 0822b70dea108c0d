package wire

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/history"
	"strata/session/events"
	"strata/session/tools"
)

// The client in whose terminal a call runs is shown the terminal, others the output as text; a result is text for others.
func TestOutputOfACall(t *testing.T) {
	me, other := new(int), new(int)
	inTerminal := func(owner any) *tools.Output {
		return &tools.Output{Text: "tail", End: 9000, Terminal: &tools.Terminal{Owner: owner, ID: "t1"}}
	}
	content := func(text string) string {
		return `,"content":[{"type":"content","content":{"type":"text","text":"` + text + `"}}]`
	}
	const terminal = `,"content":[{"type":"terminal","terminalId":"t1"}]`
	meta := func(end int) string { return fmt.Sprintf(`,"_meta":{"strata":{"output":{"end":%d}}}`, end) }
	result := &tools.Result{Content: []history.Block{{Type: history.BlockText, Text: "result"}}}
	for name, tt := range map[string]struct {
		identity any
		output   *tools.Output
		result   *tools.Result
		want     string // of the update, after its title and kind
	}{
		"no output":                       {me, nil, nil, ""},
		"of the server":                   {me, &tools.Output{Text: "tail", End: 5000}, nil, content("tail") + meta(5000)},
		"nothing yet":                     {me, &tools.Output{}, nil, meta(0)},
		"result of the server's":          {me, &tools.Output{Text: "tail", End: 5000}, result, content("result")},
		"the client's terminal":           {me, inTerminal(me), nil, terminal},
		"the client's terminal, at last":  {me, inTerminal(me), result, terminal},
		"another's terminal":              {other, inTerminal(me), nil, content("tail") + meta(9000)},
		"another's terminal, at last":     {other, inTerminal(me), result, content("result")},
		"nobody's terminal":               {nil, inTerminal(nil), nil, content("tail") + meta(9000)},
		"a client without identity":       {nil, inTerminal(me), nil, content("tail") + meta(9000)},
		"nobody's terminal, with a claim": {me, inTerminal(nil), nil, content("tail") + meta(9000)},
	} {
		status := tools.InProgress
		if tt.result != nil {
			status = tools.Completed
		}
		e := events.Event{Kind: events.CallUpdate, First: 3, Seq: 9, Data: tools.Progress{
			CallID: "tc_1", Status: status, Kind: tools.KindExecute, Description: tools.Description{Title: "make"}, Output: tt.output, Result: tt.result,
		}}
		c := Encoder{SessionID: "s", Epoch: "e", Identity: tt.identity}
		n, ok, err := c.Encode(&e)
		if err != nil || !ok {
			t.Fatal(ok, err)
		}
		want := `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"tc_1","title":"make","kind":"execute","status":"` +
			string(status) + `"` + tt.want + `},"_meta":{"strata":{"epoch":"e","first":3,"seq":9}}}`
		if diff := cmp.Diff(want, string(n.Params)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
