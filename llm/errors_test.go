package llm

import (
	"testing"

	"strata/internal/upstream"
)

// Anthropic's status for "overloaded" has no standard text, and the body of a proxy can be anything.
func TestARetrySaysWhyWhateverTheBodyIs(t *testing.T) {
	for _, body := range []string{"", "<html>", `{"error":{}}`, `{"error":{"type":"overloaded_error","message":""}}`} {
		up := newUpstream(t, upstream.Script{Status: 529, Body: body}, upstream.Script{Steps: upstream.Texts("fine")})
		var rec recorder
		if _, err := newClient(t, up).Stream(t.Context(), ask(upstream.Anthropic, "hi"), rec.on); err != nil {
			t.Fatal(err)
		}
		if r := rec.retries(); len(r) != 1 || r[0].Reason == "" {
			t.Errorf("body %q: retries %+v", body, r)
		}
	}
}
