package mcp

import (
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"strata/session/servers"
)

// safe are the variables that an MCP server gets beside those of its definition. They tell it about the user, the language,
// the network and temporary files. Others can hold secrets. A name that ends with an asterisk stands for all that begin so.
var safe = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "LANG", "LC_*", "TMPDIR", "TZ", "XDG_*",
	"http_proxy", "https_proxy", "no_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "REQUESTS_CA_BUNDLE",
}

// safeOnWindows are the further ones on Windows, where the case of a name does not matter.
var safeOnWindows = []string{
	"PATHEXT", "COMSPEC", "SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "TEMP", "TMP", "USERNAME", "USERDOMAIN", "USERPROFILE",
	"HOMEDRIVE", "HOMEPATH", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "ALLUSERSPROFILE", "PROGRAMFILES", "PROGRAMFILES(X86)",
	"PROGRAMW6432", "COMMONPROGRAMFILES", "PROCESSOR_ARCHITECTURE", "NUMBER_OF_PROCESSORS", "OS",
}

// environment returns the variables of a server's process, sorted: the safe ones of the place, and all of the definition.
func environment(d servers.Definition, at servers.Place) []string {
	base := at.Environment
	if base == nil {
		base = os.Environ()
	}
	return merge(runtime.GOOS == "windows", base, d.Env)
}

func merge(windows bool, base, more []string) []string {
	variables := make(map[string]string) // whole entries, by name
	for _, entry := range base {
		if name, ok := variable(windows, entry); ok && isSafe(windows, name) {
			variables[name] = entry
		}
	}
	for _, entry := range more {
		if name, ok := variable(windows, entry); ok {
			variables[name] = entry
		}
	}
	return slices.Sorted(maps.Values(variables))
}

// variable returns the name of a variable in the form in which names are compared. Entries without one, such as the current
// folders of drives on Windows, and entries that no process can have, are none.
func variable(windows bool, entry string) (name string, ok bool) {
	name, _, ok = strings.Cut(entry, "=")
	if !ok || name == "" || strings.ContainsRune(entry, 0) {
		return "", false
	}
	if windows {
		name = strings.ToUpper(name)
	}
	return name, true
}

func isSafe(windows bool, name string) bool {
	matches := func(pattern string) bool {
		start, all := strings.CutSuffix(pattern, "*")
		return name == pattern || all && strings.HasPrefix(name, start)
	}
	return slices.ContainsFunc(safe, matches) || windows && slices.ContainsFunc(safeOnWindows, matches)
}
