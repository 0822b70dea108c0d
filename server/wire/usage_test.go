package wire

import (
	"encoding/json"
	"strings"
	"testing"

	"strata/history"
)

// A row of the usage log says to which step of the turn its call belongs, if any.
func TestUsageBySteps(t *testing.T) {
	calls := []history.Call{{ID: "call_1", Turn: "turn_1", Step: 1}, {ID: "call_2", Turn: "turn_1", Step: 2}, {ID: "call_3"}}
	page := NewUsagePage(calls, nil, "", func(string, history.Usage) float64 { return 0 })
	for i, want := range []string{`"turnId":"turn_1","step":1,`, `"turnId":"turn_1","step":2,`, `{"callId":"call_3","purpose"`} {
		encoded, err := json.Marshal(page.Calls[i])
		if err != nil || !strings.Contains(string(encoded), want) {
			t.Errorf("%s, want %s, error %v", encoded, want, err)
		}
	}
}
