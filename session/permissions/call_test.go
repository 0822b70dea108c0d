package permissions

import (
	"encoding/json"
	"testing"

	"strata/session/approval"
	"strata/session/tools"
)

// callOf returns a call of a tool.
func callOf(name string, change func(*tools.Tool)) *tools.Call {
	tool := &tools.Tool{Definition: tools.Definition{Name: name}}
	change(tool)
	return &tools.Call{ID: "tc_1", Tool: *tool, Args: json.RawMessage(`{"command":"go test ./..."}`)}
}

// lineOf is a Tool.Command.
func lineOf(input json.RawMessage) string {
	var in struct{ Command string }
	if json.Unmarshal(input, &in) != nil {
		return ""
	}
	return in.Command
}

// Whose tool a call is of decides in each mode, from the strictest: A allowed, ? asks, R refused.
func TestDecisionsOnTheCallsOfTools(t *testing.T) {
	none := func(*tools.Tool) {}
	server := func(trusted bool) func(*tools.Tool) {
		return func(tool *tools.Tool) { tool.Server = &tools.Server{Name: "gh", Trusted: trusted} }
	}
	command := func(tool *tools.Tool) { tool.Command = lineOf }
	edit := &tools.Change{Names: []string{"a.go", "b/c.go"}}
	verdicts := map[approval.Verdict]byte{approval.Asks: '?', approval.Allowed: 'A', approval.Refused: 'R'}
	for name, test := range map[string]struct {
		call   *tools.Call
		change *tools.Change
		rule   string // of the session
		want   string
	}{
		"a client's tool":                {callOf("deploy", none), nil, "", "R???"},
		"a client's tool with its rule":  {callOf("deploy", none), nil, "deploy", "RAAA"},
		"a command":                      {callOf("run_command", command), nil, "", "R??A"},
		"a command with its rule":        {callOf("run_command", command), nil, "run_command(go test *)", "RAAA"},
		"a command with another rule":    {callOf("run_command", command), nil, "run_command(go vet *)", "R??A"},
		"an edit":                        {callOf("edit_file", none), edit, "", "R?AA"},
		"an edit of what others trust":   {callOf("edit_file", none), &tools.Change{Names: []string{"a.go", ".git/config"}}, "edit_file", "R???"},
		"a server's tool":                {callOf("gh__create", server(false)), nil, "", "R???"},
		"a server's tool with its rule":  {callOf("gh__create", server(false)), nil, "gh__create", "RAAA"},
		"a server's tool, another rule":  {callOf("gh__create", server(false)), nil, "gh__list", "R???"},
		"a trusted server's tool":        {callOf("gh__create", server(true)), nil, "", "RAAA"},
		"a server's tool with a command": {callOf("gh__run", func(tool *tools.Tool) { server(false)(tool); command(tool) }), nil, "", "R???"},
		"a server's tool that is said to read": {callOf("gh__list", func(tool *tools.Tool) {
			server(false)(tool)
			tool.ReadOnly = true
		}), nil, "", "R???"},
	} {
		var session approval.Rules
		if test.rule != "" {
			session = rulesOf(t, test.rule)
		}
		for i, mode := range approval.Modes() {
			policy := approval.Policy{Mode: mode, Session: session}
			if got := verdicts[policy.Decide(Call(test.call, test.change)).Verdict]; got != test.want[i] {
				t.Errorf("%s, %s: got %c, want %c", name, mode, got, test.want[i])
			}
		}
	}
}

// A rule of the configuration that denies counts more than the trust in a server.
func TestTrustDoesNotLiftADenyingRule(t *testing.T) {
	call := Call(callOf("gh__create", func(tool *tools.Tool) { tool.Server = &tools.Server{Name: "gh", Trusted: true} }), nil)
	policy := approval.Policy{Mode: approval.Auto, Deny: rulesOf(t, "gh__create")}
	if d := policy.Decide(call); d.Verdict != approval.Refused {
		t.Errorf("got %+v", d)
	}
}

// The rules on offer for a command are those of its line, whatever its tool shows of a call.
func TestRulesThatAreOfferedForTheCallsOfTools(t *testing.T) {
	for _, test := range []struct {
		call *tools.Call
		want []string
	}{
		{callOf("run_command", func(tool *tools.Tool) { tool.Command = lineOf }), []string{"run_command(go test ./...)", "run_command(go test *)"}},
		{callOf("run_command", func(tool *tools.Tool) {
			tool.Command = func(input json.RawMessage) string { return "cd sub && " + lineOf(input) }
		}), []string{"run_command(cd sub && go test ./...)"}},
		{callOf("gh__create", func(tool *tools.Tool) { tool.Server = &tools.Server{Name: "gh"} }), []string{"gh__create"}},
	} {
		d := new(approval.Policy).Decide(Call(test.call, nil))
		if got := approval.Rules(d.Always).Texts(); len(got) != len(test.want) || got[0] != test.want[0] || got[len(got)-1] != test.want[len(got)-1] {
			t.Errorf("%s: offered are %q, want %q", test.call.Tool.Name, got, test.want)
		}
	}
}
