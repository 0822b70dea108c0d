package tools

import "testing"

func TestSameSchemas(t *testing.T) {
	all := func() []Tool { return []Tool{readFile(nil, nil, nil), listFiles(nil), UpdatePlan()} }
	first, err := NewSet(all()...)
	must(t, err)
	again, err := first.With(all()...)
	must(t, err)
	for i := range first.schemas {
		if first.schemas[i] != again.schemas[i] {
			t.Errorf("the schema of %s is parsed again", first.tools[i].Name)
		}
	}
}
