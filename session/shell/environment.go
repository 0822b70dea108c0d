package shell

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"strata/session/clients"
)

// unattended are the variables that keep programs from waiting for a user: pagers, and git's questions for passwords.
var unattended = []clients.Variable{
	{Name: "PAGER", Value: "cat"}, {Name: "GIT_PAGER", Value: "cat"}, {Name: "GH_PAGER", Value: "cat"}, {Name: "MANPAGER", Value: "cat"},
	{Name: "GIT_TERMINAL_PROMPT", Value: "0"},
}

// forcing are the variables that make programs color an output that is no terminal.
var forcing = []string{"FORCE_COLOR", "CLICOLOR_FORCE"}

// environment returns the environment of a command in dir on this machine.
func (s Services) environment(dir string) []string {
	base := s.Environment()
	if base == nil {
		base = os.Environ()
	}
	set := append(slices.Clone(unattended), clients.Variable{Name: "TERM", Value: "dumb"}, clients.Variable{Name: "PWD", Value: dir})
	if runtime.GOOS == "windows" { // otherwise cmd.exe prefers a git.bat of the folder to git
		set = append(set, clients.Variable{Name: "NoDefaultCurrentDirectoryInExePath", Value: "1"})
	}
	all := slices.DeleteFunc(slices.Clone(base), func(variable string) bool {
		name, _, _ := strings.Cut(variable, "=")
		return s.isWithheld(name) || slices.ContainsFunc(set, func(v clients.Variable) bool { return strings.EqualFold(v.Name, name) })
	})
	for _, v := range set {
		all = append(all, v.Name+"="+v.Value)
	}
	return all
}

// isWithheld reports whether a command on this machine does not get a variable: one of Strata's own, a provider's key, or one
// that forces colors. Windows has no case in names.
func (s Services) isWithheld(name string) bool {
	isName := func(other string) bool { return strings.EqualFold(name, other) }
	return strings.HasPrefix(strings.ToUpper(name), "STRATA_") || slices.ContainsFunc(forcing, isName) || slices.ContainsFunc(s.Secrets, isName)
}
