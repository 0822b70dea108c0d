package toolbox

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/session/tools"
)

func declared(name string) Declared {
	return Declared{
		Definition: tools.Definition{Name: name, Description: "Does " + name, Schema: json.RawMessage(`{"type":"object"}`)},
		Kind:       tools.KindRead, ReadOnly: true,
	}
}

func declaration(t *testing.T, all ...Declared) *Declaration {
	t.Helper()
	d, err := NewDeclaration(all)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestWrongDeclarations(t *testing.T) {
	with := func(change func(d *Declared)) []Declared {
		d := declared("zoom")
		change(&d)
		return []Declared{declared("pan"), d}
	}
	many := make([]Declared, MaxDeclared+1)
	for i := range many {
		many[i] = declared(fmt.Sprint("tool_", i))
	}
	large := slices.Clone(many[:MaxDeclaration/MaxDescription])
	for i := range large {
		large[i].Description = strings.Repeat("x", MaxDescription)
	}
	deep := json.RawMessage(`{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 40) + `{}` + strings.Repeat(`}}`, 40) + `}`)
	for want, all := range map[string][]Declared{
		`[1].name: "a b" must have 1 to 64 letters, digits, _ or -`: with(func(d *Declared) { d.Name = "a b" }),
		`[1].name: "" must have`:                                    with(func(d *Declared) { d.Name = "" }),
		`[1].name: "xxxxxxxx`:                                       with(func(d *Declared) { d.Name = strings.Repeat("x", 65) }),
		`[1].name: search is a built-in tool`:                       with(func(d *Declared) { d.Name = "search" }),
		`[1].name: write_file is a built-in tool`:                   with(func(d *Declared) { d.Name = "write_file" }),
		`[1].name: pan is declared twice`:                           with(func(d *Declared) { d.Name = "pan" }),
		`[1].kind: "fly" is unknown; the kinds are read`:            with(func(d *Declared) { d.Kind = "fly" }),
		`[1].description: 16385 bytes exceeds the limit of 16384`: with(func(d *Declared) {
			d.Description = strings.Repeat("x", MaxDescription+1)
		}),
		`[1].inputSchema: must be an object`:             with(func(d *Declared) { d.Schema = json.RawMessage(`7`) }),
		`[1].inputSchema.type: must be "object"`:         with(func(d *Declared) { d.Schema = json.RawMessage(`{"type":"string"}`) }),
		`[1].inputSchema.properties.a: must be a schema`: with(func(d *Declared) { d.Schema = json.RawMessage(`{"type":"object","properties":{"a":7}}`) }),
		`is nested more than 32 levels deep`:             with(func(d *Declared) { d.Schema = deep }),
		`[1].inputSchema: 65552 bytes exceeds`: with(func(d *Declared) {
			d.Schema = json.RawMessage(`{"type":"object` + strings.Repeat(" ", tools.MaxSchema) + `"`)
		}),
		`: 241 tools exceeds the limit of 240`: many,
		`bytes exceeds the limit of 524288`:    large,
		`[1].inputSchema: 65560 bytes exceeds`: with(func(d *Declared) { // once its characters are escaped
			d.Schema = json.RawMessage(`{"type":"object","title":"` + strings.Repeat("\u2028", tools.MaxSchema/6) + `"}`)
		}),
	} {
		d, err := NewDeclaration(all)
		if err == nil || d != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v, want %s", d, err, want)
		}
	}
}

// All sets within the limits can be declared: there is room for the built-in tools.
func TestTheLargestDeclaration(t *testing.T) {
	var all []Declared
	for i := range MaxDeclared {
		all = append(all, declared(fmt.Sprint("tool_", i)))
	}
	b := New(nil, nil, nil)
	b.Declare(&Offer{Tools: declaration(t, all...)})
	var builtIn []tools.Tool
	for i := range tools.MaxTools - MaxDeclared {
		one := tools.UpdatePlan()
		one.Name = fmt.Sprint("built_in_", i)
		builtIn = append(builtIn, one)
	}
	b.Open(builtIn)
	if got, withdrawn := b.Definitions(); len(got) != tools.MaxTools || len(withdrawn) > 0 {
		t.Errorf("%d definitions, %d withdrawn", len(got), len(withdrawn))
	}
}

// Frontends do not write the members of an object in the same order each time.
func TestEqualSchemasAreEqualBytes(t *testing.T) {
	a, b := declared("zoom"), declared("zoom")
	a.Schema = json.RawMessage(`{"type":"object","properties":{"b":{"type":"string","description":"<b>"},"a":{"maximum":12345678901234567890}}}`)
	b.Schema = json.RawMessage("{\n\"properties\": {\"a\":{\"maximum\":12345678901234567890},\"b\":{\"description\":\"<b>\",\"type\":\"string\"}},\"type\":\"object\"}")
	const want = `{"properties":{"a":{"maximum":12345678901234567890},"b":{"description":"<b>","type":"string"}},"type":"object"}`
	for _, d := range []Declared{a, b} {
		if got := string(declaration(t, d).tools[0].Schema); got != want {
			t.Errorf("the schema is %s", got)
		}
	}
}

func namesOf(b *Toolbox) (all []string, withdrawn []string) {
	definitions, withdrawn := b.Definitions()
	for _, d := range definitions {
		all = append(all, d.Name)
	}
	return all, withdrawn
}

// The set has the built-in tools of the turn, those declared, and those that are gone since a request had them.
func TestTheSetOfATurn(t *testing.T) {
	b := New(nil, nil, nil)
	plan := []tools.Tool{tools.UpdatePlan()}
	offer := func(names ...string) *Offer {
		var all []Declared
		for _, name := range names {
			all = append(all, declared(name))
		}
		return &Offer{Tools: declaration(t, all...)}
	}
	for i, step := range []struct {
		builtIn         []tools.Tool
		declare         *Offer
		leftOut         []string
		want, withdrawn string
	}{
		{nil, nil, nil, "[]", "[]"},
		{plan, nil, nil, "[update_plan]", "[]"},
		{plan, offer("zoom", "pan"), nil, "[pan update_plan zoom]", "[]"},
		{plan, offer("zoom"), nil, "[pan update_plan zoom]", "[pan]"},
		{plan, nil, nil, "[pan update_plan zoom]", "[pan]"},
		{nil, offer(), nil, "[pan update_plan zoom]", "[pan update_plan zoom]"},
		{plan, offer("pan"), nil, "[pan update_plan zoom]", "[zoom]"},
		{plan, nil, []string{"zoom"}, "[pan update_plan]", "[]"},
		{plan, offer(), []string{"pan"}, "[update_plan]", "[]"},
	} {
		b.Declare(step.declare)
		set := b.Open(step.builtIn)
		b.LeftOut(step.leftOut)
		all, withdrawn := namesOf(b)
		if fmt.Sprint(all) != step.want || fmt.Sprint(withdrawn) != step.withdrawn || (set == nil) != (step.want == "[]") {
			t.Errorf("step %d: the tools are %v, withdrawn %v", i, all, withdrawn)
		}
	}
}

// Frontends that declare other tools for each turn do not make the requests grow without bound.
func TestWithdrawnToolsAreBounded(t *testing.T) {
	for name, size := range map[string]int{"number": 0, "bytes": MaxDescription} {
		t.Run(name, func(t *testing.T) {
			b := New(nil, nil, nil)
			for turn := range 60 {
				var all []Declared
				for i := range 20 {
					one := declared(fmt.Sprintf("tool_%d_%d", turn, i))
					one.Description = strings.Repeat("x", size)
					all = append(all, one)
				}
				b.Declare(&Offer{Tools: declaration(t, all...)})
				b.Open(nil)
				definitions, _ := b.Definitions()
				bytes := 0
				for _, d := range definitions {
					bytes += len(d.Description)
				}
				if len(definitions) > tools.MaxTools || len(definitions) < 20 || bytes > 2*MaxDeclaration {
					t.Fatalf("turn %d: %d definitions, %d bytes", turn, len(definitions), bytes)
				}
			}
		})
	}
}
