package config

import (
	"slices"
	"strings"
	"testing"

	"strata/session/approval"
)

// A rule is added where the file has its rules, and all else stays byte for byte.
func TestARuleIsAddedToTheText(t *testing.T) {
	for name, tt := range map[string]struct{ text, want string }{
		"an empty file":                {"", "tools:\n  allow:\n    - zoom_in\n"},
		"comments only":                {"# mine\n", "# mine\ntools:\n  allow:\n    - zoom_in\n"},
		"no section":                   {"model: offline/digest # mine\n", "model: offline/digest # mine\ntools:\n  allow:\n    - zoom_in\n"},
		"no line end":                  {"model: offline/digest", "model: offline/digest\ntools:\n  allow:\n    - zoom_in"},
		"an empty section":             {"tools:\n  # allow: [x]\nmodel: offline/digest\n", "tools:\n  allow:\n    - zoom_in\n  # allow: [x]\nmodel: offline/digest\n"},
		"a section":                    {"tools: # mine\n    # steps\n    max_steps: 5\n", "tools: # mine\n    allow:\n      - zoom_in\n    # steps\n    max_steps: 5\n"},
		"a list":                       {"tools:\n  allow:\n    - edit_file # yes\n    # no more\n  deny: [x]\n", "tools:\n  allow:\n    - edit_file # yes\n    - zoom_in\n    # no more\n  deny: [x]\n"},
		"a list not indented":          {"tools:\n  allow:\n  - edit_file\nmodel: offline/digest\n", "tools:\n  allow:\n  - edit_file\n  - zoom_in\nmodel: offline/digest\n"},
		"a folded item":                {"tools:\n  allow:\n    - >-\n      edit_file\n    - |-\n      pan\n", "tools:\n  allow:\n    - zoom_in\n    - >-\n      edit_file\n    - |-\n      pan\n"},
		"an item in two lines":         {"tools:\n  allow:\n    - 'run_command(a\n      b)'\n", "tools:\n  allow:\n    - zoom_in\n    - 'run_command(a\n      b)'\n"},
		"an empty list":                {"tools: {allow: [], max_steps: 5}\n", "tools: {allow: [zoom_in], max_steps: 5}\n"},
		"brackets":                     {"tools:\n  allow: [edit_file, pan] # two\n", "tools:\n  allow: [edit_file, pan, zoom_in] # two\n"},
		"brackets with a comma":        {"tools:\n  allow: [edit_file, pan,]\n", "tools:\n  allow: [zoom_in, edit_file, pan,]\n"},
		"brackets in lines":            {"tools:\n  allow: [\n    edit_file, # one\n    pan # two\n  ]\n", "tools:\n  allow: [\n    edit_file, # one\n    pan # two\n  , zoom_in]\n"},
		"a section in one line":        {"tools: {max_steps: 5}\n", "tools: {allow: [zoom_in], max_steps: 5}\n"},
		"an empty section in one line": {"tools: {}\n", "tools: {allow: [zoom_in]}\n"},
		"a file in one line":           {"{model: offline/digest}\n", "{tools: {allow: [zoom_in]}, model: offline/digest}\n"},
		"a document mark":              {"---\nmodel: offline/digest\n...\n", "---\ntools:\n  allow:\n    - zoom_in\nmodel: offline/digest\n...\n"},
		"other letters":                {"# äöü\nsystem_prompt: 'äöü' # ä\ntools: {allow: [pan]} # ö\n", "# äöü\nsystem_prompt: 'äöü' # ä\ntools: {allow: [pan, zoom_in]} # ö\n"},
		"a text at the end":            {"system_prompt: |\n  one\n\n  two\n", "system_prompt: |\n  one\n\n  two\ntools:\n  allow:\n    - zoom_in\n"},
		"a kept line end":              {"system_prompt: |+\n  one\n\n", "system_prompt: |+\n  one\n\ntools:\n  allow:\n    - zoom_in\n"},
		"a profile":                    {"profiles: {chat: {title: Mine}}\ntools: {deny: [x]}\n", "profiles: {chat: {title: Mine}}\ntools: {allow: [zoom_in], deny: [x]}\n"},
		"it is there":                  {"tools:\n  allow: ['zoom_in']\n", "tools:\n  allow: ['zoom_in']\n"},
		"it is denied":                 {"tools:\n  deny: [zoom_in]\n", "tools:\n  allow:\n    - zoom_in\n  deny: [zoom_in]\n"},
	} {
		got, err := WithAllowed("strata.yaml", tt.text, "zoom_in")
		if err != nil || got != tt.want {
			t.Errorf("%s: got\n%s\nwant\n%s\n%v", name, got, tt.want, err)
		}
		if again, err := WithAllowed("strata.yaml", got, "zoom_in"); err != nil || again != got {
			t.Errorf("%s: the second time makes\n%s\n%v", name, again, err)
		}
	}
}

// Whatever a rule contains, it is read as it was written.
func TestRulesAreQuotedInTheText(t *testing.T) {
	for _, rule := range []string{
		"true", "null", "123", "0x1f", "run_command(go test *)", "run_command(echo 'a' # b)", "run_command(a: b)", `run_command("a\n*")`,
		"run_command(x, y)", "run_command(x])", "run_command(&a *b)", "run_command(ä)", "run_command(a''b)", "-", "_", "run_command(a #)",
	} {
		for _, text := range []string{"", "tools:\n  allow:\n    - pan\n", "tools: {allow: [pan]}\n"} {
			edited, err := WithAllowed("strata.yaml", text, rule)
			if err != nil {
				t.Errorf("%s in %q: %v", rule, text, err)
				continue
			}
			c, _, err := readText("strata.yaml", edited)
			if err != nil || c.Tools.Allow[len(c.Tools.Allow)-1] != rule {
				t.Errorf("%s is written as\n%s\nread as %q, %v", rule, edited, c.Tools.Allow, err)
			}
		}
	}
}

// A text that is no configuration is not edited.
func TestWhatIsNoConfigurationIsNotEdited(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"tools: [", "strata.yaml:1:"},
		{"tools:\n  allow: x\n", "tools.allow"},
		{"tools:\n  allow:\n", "tools.allow"},
		{"unknown: 1\n", "unknown key"},
		{"a\xff: 1\n", "not UTF-8"},
		{"tools: null\n", "no place for the rule"},
		{"a: 1\n---\nb: 2\n", "more than one document"},
		{"# " + strings.Repeat("x", maxFileBytes-5) + "\n", "no place for the rule"},
	} {
		if got, err := WithAllowed("strata.yaml", tt.text, "zoom_in"); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%.40q: got %.60q, %v", tt.text, got, err)
		}
	}
}

// FuzzWithAllowed checks that an edited text has the rule, and the lines of the old text in their order.
func FuzzWithAllowed(f *testing.F) {
	for _, text := range []string{"", "tools:\n  allow:\n    - pan # x\n", "tools: {allow: [pan,]}", "tools:\n\n  deny: [x]", "{tools: {}}", "model: x/y\r\ntools:\r\n  max_steps: 3\r\n", "# a\r# b\n\ntools: {allow: [pan]}", "tools:\r  allow: [pan]"} {
		f.Add(text, "zoom_in")
		f.Add(text, `run_command(a 'b" # *)`)
	}
	f.Fuzz(func(t *testing.T, text, rule string) {
		parsed, err := approval.ParseAllow(rule)
		if err != nil {
			return
		}
		rule = parsed.String()
		edited, err := WithAllowed("strata.yaml", text, rule)
		if err != nil {
			return
		}
		c, _, err := readText("strata.yaml", edited)
		if err != nil || !slices.Contains(c.Tools.Allow, rule) {
			t.Fatalf("%q with %q: %q is read as %q, %v", text, rule, edited, c.Tools.Allow, err)
		}
		rest := edited
		for _, r := range text { // each character of the text is there, in order
			at := strings.IndexRune(rest, r)
			if at < 0 {
				t.Fatalf("%q became %q", text, edited)
			}
			rest = rest[at+len(string(r)):]
		}
	})
}
