package tools

import (
	"testing"
)

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

// No frontend can declare a tool with the name of one of ours.
func TestBuiltInNames(t *testing.T) {
	w := workspaceOf(t, t.TempDir())
	w.Symbols = noSymbols{}
	for _, tool := range Reading(w) {
		if !IsBuiltIn(tool.Name) || KindOf(tool.Name) != tool.Kind {
			t.Errorf("%s is not known as a built-in tool of the kind %s", tool.Name, tool.Kind)
		}
	}
	if IsBuiltIn("fly") || KindOf("fly") != KindOther {
		t.Error("fly is a built-in tool")
	}
}

type noSymbols struct{ Symbols }
