package compaction

import (
	"strings"
	"testing"
)

func TestParseBoundary(t *testing.T) {
	for answer, want := range map[string]Boundary{
		`{"boundary": 3, "reason": "new", "confidence": 0.7, "summary": "old"}`:        {3, 0.7, "new", "old", ByModel},
		"Sure!\n```json\n{\"boundary\": 3, \"confidence\": 1}\n```\nAnything else?":    {3, 1, "", "", ByModel},
		`I think {it} is {"boundary_index": 0, "confidence": 0.5}, don't you? {"a":1}`: {0, 0.5, "", "", ByModel},
		`{"result": {"boundary": 2, "confidence": 0.9}}`:                               {2, 0.9, "", "", ByModel},
		`{"boundary": "4", "confidence": "0.8", "reason": 5, "summary": null}`:         {4, 0.8, "", "", ByModel},
		`{"boundary": 4.0, "confidence": 85}`:                                          {4, 0, "", "", ByModel},
		`{"boundary": 4, "confidence": "high"}`:                                        {4, 0, "", "", ByModel},
		`{"boundary": 4, "confidence": -1}`:                                            {4, 0, "", "", ByModel},
		`{"boundary": 4}`:                                                              {4, 0, "", "", ByModel},
		`{"boundary": null, "confidence": 0.9}`:                                        noneByModel,
		`{"boundary": 10, "confidence": 0.9}`:                                          noneByModel,
		`{"boundary": -1, "confidence": 0.9}`:                                          noneByModel,
		`{"boundary": 1e99, "confidence": 0.9}`:                                        noneByModel,
		`{"boundary": 2.5, "confidence": 0.9}`:                                         noneByModel,
		`{"boundary": "NaN", "confidence": 0.9}`:                                       noneByModel,
		`{"boundary": [3], "confidence": 0.9}`:                                         noneByModel,
		`{"boundary": {"boundary": 3}, "confidence": 0.9}`:                             noneByModel,
		`{"boundary": 3, "confidence": 0.9`:                                            noneByModel,
		`[3]`:                                                                          noneByModel,
		`The newest topic begins at 3.`:                                                noneByModel,
		``:                                                                             noneByModel,
	} {
		if got := parseBoundary(answer, 10); got != want {
			t.Errorf("%s: %+v, want %+v", answer, got, want)
		}
	}
}

func TestParseBoundaryIsBounded(t *testing.T) {
	good := `{"boundary": 3, "confidence": 0.9}`
	for name, before := range map[string]string{
		"after the limit":     strings.Repeat(" ", replyBytes),
		"too many braces":     strings.Repeat("{", replyObjects),
		"braces with content": strings.Repeat(`{"a":`, replyBytes),
	} {
		if b := parseBoundary(before+good, 10); b != noneByModel {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func FuzzParseBoundary(f *testing.F) {
	for _, seed := range []string{`{"boundary": 3, "confidence": 0.9}`, "```json\n{\"boundary\": null}\n```", `{"index": "7"} {`, `{{{`, `{"boundary":1e400}`} {
		f.Add(seed, 10)
	}
	f.Fuzz(func(t *testing.T, answer string, messages int) {
		b := parseBoundary(answer, messages)
		if b.Index < -1 || b.Index >= max(messages, 0) || !(b.Confidence >= 0 && b.Confidence <= 1) || b.By != ByModel {
			t.Errorf("%+v of %d messages", b, messages)
		}
	})
}
