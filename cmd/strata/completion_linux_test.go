package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// completers print what a shell completes for the words of $line; completion is the script that strata made for it.
var completers = map[string]string{
	"bash": `. /usr/share/bash-completion/bash_completion; . "$completion"
		COMP_LINE=$line; COMP_POINT=${#line}; read -ra COMP_WORDS <<<"$line"
		case $line in *' ') COMP_WORDS+=('');; esac
		COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); COMP_TYPE=9
		compopt() { :; }
		__start_strata; printf '%s\n' "${COMPREPLY[@]}"`,
	// Only an interactive zsh completes words. The script is called as zsh calls it, and the function that shows a list
	// prints it.
	"zsh": `compdef() { :; }; _describe() { print -rl -- "${(@P)@[$#]}"; return 0 }; _arguments() { :; }
		. "$completion"
		words=("${(@s: :)line}"); CURRENT=${#words}; _strata`,
	"fish": `source "$completion"; complete --do-complete "$line"`,
}

// Real shells complete values with the scripts of `strata completion`. No server is started for it.
func TestShellsComplete(t *testing.T) {
	program, err := exec.LookPath("strata") // this test, see TestMain
	if err != nil {
		t.Fatal(err)
	}
	for shell, script := range completers {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skip(err)
			}
			if _, err := os.Stat("/usr/share/bash-completion/bash_completion"); shell == "bash" && err != nil {
				t.Skip(err)
			}
			home := t.TempDir()
			env := append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME=", "XDG_DATA_HOME=", "XDG_STATE_HOME=", "XDG_RUNTIME_DIR=", "completion="+filepath.Join(home, "completion"))
			text, err := exec.Command(program, "completion", shell).Output()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "completion"), text, 0o600); err != nil {
				t.Fatal(err)
			}
			for line, want := range map[string]string{
				"strata serv":                       "service",
				"strata service st":                 "status",
				"strata ask --model offline/di":     "offline/digest",
				"strata serve --profile phas":       "phased",
				"strata login anth":                 "anthropic",
				"strata config show tools.max_step": "tools.max_steps",
			} {
				cmd := exec.Command(shell, "-c", script)
				cmd.Env = append(env, "line="+line)
				out, err := cmd.CombinedOutput()
				if err != nil || !strings.Contains(string(out), want) {
					t.Errorf("%s: %v, %q", line, err, out)
				}
			}
			if _, err := os.Stat(filepath.Join(home, ".local", "state", "strata")); err == nil {
				t.Error("a server was started")
			}
		})
	}
}
