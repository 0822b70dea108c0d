package history

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMeta(t *testing.T) {
	long := strings.Repeat("x", maxMetaText+1)
	list := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat(`"x",`, n), ",") + "]" }
	for _, tc := range []struct {
		raw, err string
		want     Meta
	}{
		{"", "", Meta{}},
		{"null", "", Meta{}},
		{"{}", "", Meta{}},
		{`{"progressScore": 0.5, "progressMarkers": ["a"], "fileChanges": ["b.go"], "durationSeconds": 3, "tool": "c", "mine": [1]}`, "",
			Meta{ProgressScore: 0.5, ProgressMarkers: []string{"a"}, FileChanges: []string{"b.go"}, DurationSeconds: 3, Tool: "c"}},
		{`"text"`, "", Meta{}},
		{`[{"tool": 1}]`, "", Meta{}},
		{`{"tool"`, "must be valid JSON", Meta{}},
		{`{"tool": 1}`, "tool: must be a string", Meta{}},
		{`{"progressMarkers": "a"}`, "progressMarkers: must be a list", Meta{}},
		{`{"progressScore": -1}`, "progressScore: -1 is negative", Meta{}},
		{`{"progressScore": 1e999}`, "progressScore: must be a number", Meta{}},
		{`{"durationSeconds": -1}`, "durationSeconds: -1 is negative", Meta{}},
		{`{"progressMarkers": [" "]}`, "progressMarkers[0]: length must be between 1 and 1000 bytes", Meta{}},
		{`{"fileChanges": ["a", "` + long + `"]}`, "fileChanges[1]: length must be between 1 and 1000 bytes", Meta{}},
		{`{"tool": "` + long + `"}`, "tool: 1001 bytes", Meta{}},
		{`{"progressMarkers": ` + list(maxMetaMarkers) + `}`, "", Meta{ProgressMarkers: strings.Split(strings.TrimSuffix(strings.Repeat("x,", maxMetaMarkers), ","), ",")}},
		{`{"progressMarkers": ` + list(maxMetaMarkers+1) + `}`, "progressMarkers: 51 elements exceeds the limit of 50", Meta{}},
		{`{"fileChanges": ` + list(maxMetaFiles+1) + `}`, "fileChanges: 501 elements exceeds the limit of 500", Meta{}},
		{fmt.Sprintf(`{"mine": %q}`, strings.Repeat("x", MaxMetaBytes)), "exceeds the limit of 65536", Meta{}},
	} {
		got, err := ParseMeta(json.RawMessage(tc.raw))
		if (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
			t.Errorf("%.60s: %v, want %q", tc.raw, err, tc.err)
		} else if diff := cmp.Diff(tc.want, got); err == nil && diff != "" {
			t.Errorf("%.60s: %s", tc.raw, diff)
		}
	}
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte(`{"progressScore": 0.5, "progressMarkers": ["a"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		m, err := ParseMeta(raw)
		if err == nil && (m.ProgressScore < 0 || len(m.ProgressMarkers) > maxMetaMarkers || len(m.Tool) > maxMetaText) {
			t.Fatalf("%+v of %q", m, raw)
		}
	})
}
