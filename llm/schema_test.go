package llm

import (
	"fmt"
	"strings"
	"testing"
)

// Schemas are sorted once, and the number and the size of those that are remembered is limited.
func TestSchemasAreRememberedWithinLimits(t *testing.T) {
	var s sortedSchemas
	schema := func(n int) []byte { return fmt.Appendf(nil, `{"type":"object","title":"%d"}`, n) }
	first := s.of(schema(0))
	if want := `{"title":"0","type":"object"}`; string(first) != want {
		t.Fatalf("sorted as %s, want %s", first, want)
	}
	if again := s.of(schema(0)); &again[0] != &first[0] {
		t.Error("the same schema was sorted again")
	}
	for n := range 3 * maxSchemas {
		s.of(schema(n))
		if len(s.sorted) > maxSchemas {
			t.Fatalf("%d schemas are remembered", len(s.sorted))
		}
	}
	s = sortedSchemas{}
	if large := s.of(fmt.Appendf(nil, `{"title":%q}`, strings.Repeat("x", maxSchemaBytes))); len(large) < maxSchemaBytes || len(s.sorted) > 0 {
		t.Errorf("a large schema of %d bytes; %d are remembered", len(large), len(s.sorted))
	}
}
