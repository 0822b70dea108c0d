package servers

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"strata/session/tools"
)

func TestToolNames(t *testing.T) {
	long := strings.Repeat("x", 70)
	for _, tt := range []struct{ server, tool, want string }{
		{"git", "log", "git__log"},
		{"My Server", "ns/tool.v2", "My_Server__ns_tool_v2"},
		{"größe", "日本", "gr__e____"},
		{"a-b", "c_d", "a-b__c_d"},
		{"bad\xff", "", "bad___"},
		{"git", long, "git__" + strings.Repeat("x", 50) + "_8e9d90a5"},
	} {
		got := toolName(tt.server, tt.tool)
		if got != tt.want && len(tt.tool) < 64 || !tools.ValidName(got) {
			t.Errorf("%s, %s: %s", tt.server, tt.tool, got)
		}
	}
	if a, b := toolName("git", long+"a"), toolName("git", long+"b"); a == b || a != toolName("git", long+"a") || len(a) != maxName {
		t.Errorf("long names: %s, %s", a, b)
	}
	if a, b := toolName("git"+long, "a"), toolName("git"+long+"x", "a"); a == b {
		t.Errorf("long names of servers: %s", a)
	}
}

// Servers come by name, and their tools by name; what is taken gets a number.
func TestNamesThatAreTaken(t *testing.T) {
	s := newSession(t, command("a b"), command("a_b"), command("a.b"))
	s.opens(Opening{})
	for _, u := range s.source.all() {
		u.ready("y", "x z", "x_z", "x.z")
	}
	var names []string
	for _, one := range s.tools(tools.MaxTools, "a_b__y", "a_b__y_3") {
		names = append(names, one.Name)
	}
	want(t, "names", names, []string{
		"a_b__x_z", "a_b__x_z_2", "a_b__x_z_3", "a_b__y_2",
		"a_b__x_z_4", "a_b__x_z_5", "a_b__x_z_6", "a_b__y_4",
		"a_b__x_z_7", "a_b__x_z_8", "a_b__x_z_9", "a_b__y_5",
	})
	long := strings.Repeat("n", maxName)
	got := free(long, func(name string) bool { return name == long })
	want(t, "a long name", got, long[:62]+"_2")
}

// Whatever servers list, the tools are valid, fit, and do not take a name that is taken.
func TestHostileLists(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pieces := []string{"a", "b", "_", "__", " ", "/", "ü", "\xff", "\x00", "read_file", "run_command", strings.Repeat("x", 30), ""}
	text := func() (s string) {
		for range random.IntN(4) {
			s += pieces[random.IntN(len(pieces))]
		}
		return s
	}
	schemas := []string{
		`{"type":"object"}`, `{}`, ``, `null`, `[]`, `7`, `{"type":"string"}`, `{"type":["object","null"]}`, `{"properties":{"x":7}}`, `{"type":null}`,
		`{"type":"object","properties":` + strings.Repeat(`{"a":{"properties":`, 40) + `{}` + strings.Repeat(`}}`, 40) + `}`, `{"$ref":"#"}`, `{"type":`,
		"{\"description\":\"\xff\"}",
	}
	large := []string{
		`{"description":"` + strings.Repeat("\u2028", tools.MaxSchema/3-100) + `"}`, `{"description":"` + strings.Repeat("x", tools.MaxSchema-100) + `"}`,
		`{"description":"` + strings.Repeat("x", tools.MaxSchema) + `"}`,
	}
	for round := range 20 {
		var definitions []Definition
		for range random.IntN(6) {
			if name := text(); !slices.ContainsFunc(definitions, func(d Definition) bool { return d.Name == name }) {
				definitions = append(definitions, command(name))
			}
		}
		s := newSession(t, definitions...)
		s.opens(Opening{})
		for _, u := range s.source.all() {
			var list []Tool
			for range random.IntN(100) {
				list = append(list, Tool{Name: text(), Description: text(), Schema: json.RawMessage(schemas[random.IntN(len(schemas))])})
			}
			for range random.IntN(5) {
				list = append(list, Tool{Name: text(), Schema: json.RawMessage(large[random.IntN(len(large))])})
			}
			u.is(State{Status: Ready, Tools: list})
		}
		room := random.IntN(tools.MaxTools + 1)
		taken := []string{"a__b", "read_file", "__", "_____"}
		all := s.tools(room, taken...)
		if _, err := tools.NewSet(all...); err != nil || len(all) > room {
			t.Fatalf("round %d: %d tools in a room of %d, %v", round, len(all), room, err)
		}
		size := 0
		for i := range all {
			size += all[i].Size()
			if slices.Contains(taken, all[i].Name) {
				t.Errorf("round %d: %s is taken", round, all[i].Name)
			}
			if all[i].Kind != tools.KindOther || all[i].ReadOnly || all[i].Server == nil || all[i].Run == nil {
				t.Errorf("round %d: %+v", round, all[i])
			}
		}
		if size > MaxDefinitions+len(all)*4 {
			t.Errorf("round %d: %d bytes", round, size)
		}
	}
}

// Tools that cannot be called or have no room are omitted, and each is told once.
func TestToolsThatAreOmittedAreTold(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	git := s.source.all()[0]
	good := toolsNamed("log")[0]
	list := []Tool{{Name: "bad", Schema: json.RawMessage(`{"type":"string"}`)}, good, good}
	git.is(State{Status: Ready, Tools: list})
	want(t, "tools", s.names(), []string{"git__log"})
	want(t, "notices", s.told(), []string{`MCP server git: omitted tools: bad (inputSchema.type: must be "object"), log (the name is listed twice)`})
	git.is(State{Status: Ready, Tools: append(list, Tool{Name: "late", Schema: json.RawMessage(`7`)})})
	want(t, "notices", s.told(), []string{"MCP server git: omitted tools: late (inputSchema: must be an object)"})

	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("tool_%03d", i))
	}
	git.ready(many...)
	want(t, "tools", len(s.tools(250)), 250)
	told := s.told()
	if len(told) != 1 || !strings.HasPrefix(told[0], "MCP server git: omitted tools: tool_250 (too many tools), ") || !strings.HasSuffix(told[0], " and 42 more") {
		t.Errorf("notices: %q", told)
	}
	want(t, "tools again", len(s.tools(250)), 250)
	want(t, "notices again", s.told(), nil)
}

// The definitions of all servers are bounded; a small tool still fits behind a large one that does not.
func TestDefinitionsAreBounded(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	var list []Tool
	for i := range 40 {
		list = append(list, Tool{Name: fmt.Sprintf("large_%02d", i), Description: strings.Repeat("ü", tools.MaxDescription)})
	}
	s.source.all()[0].is(State{Status: Ready, Tools: append(list, Tool{Name: "small"})})
	all := s.tools(tools.MaxTools)
	size := 0
	for i := range all {
		size += all[i].Size()
	}
	if size > MaxDefinitions || size < MaxDefinitions-tools.MaxDescription-100 || all[len(all)-1].Name != "git__small" {
		t.Errorf("%d bytes in %d tools, the last one is %s", size, len(all), all[len(all)-1].Name)
	}
}

// What is remembered of omitted tools is bounded.
func TestRememberedFaultsAreBounded(t *testing.T) {
	s := newSession(t, command("git"))
	s.opens(Opening{})
	for round := range 3 * maxTold / 500 {
		var list []Tool
		for i := range 500 {
			list = append(list, Tool{Name: fmt.Sprint(round, "_", i), Schema: json.RawMessage(`7`)})
		}
		s.source.all()[0].is(State{Status: Ready, Tools: list})
		s.does(func() {
			if len(s.Servers.told) > maxTold {
				t.Fatalf("%d faults", len(s.Servers.told))
			}
		})
	}
}
