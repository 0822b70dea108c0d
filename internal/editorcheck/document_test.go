package editorcheck

import (
	"encoding/json"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"strata/internal/binary"
)

func TestBlocks(t *testing.T) {
	got := Blocks("```\nbefore\n```\n## A\n```json\n{\n\n}\n```\ntext\n### B\n```\nc\n```\n## C\n## D\r\n```sh\r\n# x\r\n## y\r\n```\r\n## E\n```\nopen\n")
	want := []Block{{"A", "json", "{\n\n}"}, {"A", "", "c"}, {"D", "sh", "# x\n## y"}}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if first := First(got); !slices.Equal(first, []Block{want[0], want[2]}) {
		t.Errorf("%q", first)
	}
}

// agents are the agents in a configuration in JSON.
type agents map[string]struct {
	Command string
	Args    []string
}

// The configurations in JSON start an agent that there is.
func TestConfigurationsInJSON(t *testing.T) {
	home := binary.NewHome(t, "listen: 127.0.0.1:0\n")
	for section, key := range map[string]string{"Zed": "agent_servers", "JetBrains IDEs": "agent_servers", "VS Code, ACP Client": "acp.agents"} {
		var config map[string]agents
		if err := json.Unmarshal([]byte(configuration(t, section)), &config); err != nil {
			t.Fatalf("%s: %v", section, err)
		}
		agent := config[key]["Strata"]
		if agent.Command != "strata" {
			t.Errorf("%s starts %q", section, agent.Command)
		}
		if out, err := home.Command(t.Context(), append(agent.Args, "--help")...).CombinedOutput(); err != nil || !strings.Contains(string(out), "strata stdio [flags]") {
			t.Errorf("%s: strata %q: %v\n%s", section, agent.Args, err, out)
		}
	}
	if line := configuration(t, "Any other ACP client"); line != "strata stdio" {
		t.Errorf("the line of any other client is %q", line)
	}
}

// The configurations in Lua can be read by Neovim, of any version.
func TestConfigurationsInLua(t *testing.T) {
	nvim := program(t, neovimVar, "nvim")
	for _, section := range []string{"Neovim, CodeCompanion", "Neovim, avante"} {
		cmd := exec.CommandContext(t.Context(), nvim, "--headless", "--clean", "-c", "lua assert(load(io.read('*a')))", "-c", "qa!")
		cmd.Stdin = strings.NewReader(configuration(t, section))
		if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
			t.Errorf("%s: %v\n%s", section, err, out)
		}
	}
}

// Every bracket of a configuration is closed.
func TestBracketsOfConfigurations(t *testing.T) {
	blocks, err := Read("../../docs/editors.md")
	if err != nil {
		t.Fatal(err)
	}
	closing := map[rune]rune{')': '(', ']': '[', '}': '{'}
	for _, b := range blocks {
		var open []rune
		for _, r := range b.Code {
			switch {
			case strings.ContainsRune("([{", r):
				open = append(open, r)
			case closing[r] != 0 && (len(open) == 0 || open[len(open)-1] != closing[r]):
				t.Fatalf("%s: %q closes nothing", b.Heading, r)
			case closing[r] != 0:
				open = open[:len(open)-1]
			}
		}
		if len(open) > 0 {
			t.Errorf("%s: %q is open", b.Heading, open)
		}
	}
}
