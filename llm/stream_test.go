package llm

import (
	"testing"

	"strata/internal/upstream"
)

func TestStreamAnswers(t *testing.T) {
	for _, wire := range wires {
		t.Run(string(wire), func(t *testing.T) {
			up := newUpstream(t, upstream.Script{Steps: upstream.Texts("Hel", "lo"), Usage: upstream.Usage{Input: 10, Output: 2}})
			var rec recorder
			res, err := newClient(t, up).Stream(t.Context(), ask(wire, "hi"), rec.on)
			if err != nil {
				t.Fatal(err)
			}
			if answerText(res) != "Hello" || rec.text() != "Hello" || res.StopReason != StopEndTurn || len(res.Blocks) != 1 {
				t.Errorf("answer %+v, shown %q", res, rec.text())
			}
			if !res.UsageReported || res.Usage.Input != 10 || res.Usage.Output != 2 {
				t.Errorf("usage %+v", res.Usage)
			}
		})
	}
}
