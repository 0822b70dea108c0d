//go:build linux

package trial

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// placed names the parts of an installation.
type placed struct {
	program string // path
	man     string // argument of man for the page of strata
	zsh     string // folder of zsh's completions
	bash    string // file of bash's completions; empty: bash finds it
	fish    string // file of fish's completions; empty: fish finds it
}

// userData are the user's files, which remain after the removal.
var userData = []string{home + "/.local/share/strata", home + "/.local/state", home + "/.local/state/strata"}

// Each way of an installation serves an editor through a service, and its removal leaves only the user's data.
func TestInstallations(t *testing.T) {
	debian, redHat, archive := debianPackage(t), redHatPackage(t), archive(t)
	m := boot(t)
	m.isUsed()
	m.shell("mkdir -p ~/.config/strata && printf '%%s\\n' 'model: offline/actor' 'tools: {allow: [run_command(uname)]}' >~/.config/strata/strata.yaml")

	t.Run("deb", func(t *testing.T) {
		m := m.with(t)
		before := m.files()
		m.send(debian, "/var/tmp/strata.deb")
		m.root("dpkg", "--install", "/var/tmp/strata.deb")
		m.root("dpkg", "--verify", "strata")
		m.uses(placed{program: "/usr/bin/strata", man: "strata", zsh: "/usr/share/zsh/vendor-completions"})
		m.root("dpkg", "--purge", "strata")
		m.leavesOnlyData(before)
	})
	t.Run("rpm", func(t *testing.T) {
		m := m.with(t)
		before := m.files()
		m.send(redHat, "/var/tmp/strata.rpm")
		m.root("rpm", "--force-debian", "--install", "/var/tmp/strata.rpm")
		m.root("rpm", "--verify", "strata")
		m.uses(placed{program: "/usr/bin/strata", man: "strata", zsh: "/usr/share/zsh/site-functions"})
		m.root("rpm", "--force-debian", "--erase", "strata")
		m.leavesOnlyData(before)
	})
	t.Run("archive", func(t *testing.T) {
		m := m.with(t)
		before := m.files()
		m.send(archive, "/var/tmp/strata.tar.gz")
		m.shell("mkdir ~/strata && tar -C ~/strata --strip-components=1 -xf /var/tmp/strata.tar.gz")
		top := home + "/strata"
		m.uses(placed{
			program: top + "/strata", man: top + "/man/strata.1",
			zsh: top + "/completions", bash: top + "/completions/strata.bash", fish: top + "/completions/strata.fish",
		})
		m.shell("rm -r ~/strata")
		m.leavesOnlyData(before)
	})
}

// isUsed makes the files that shells and man make at their first use, and the folders that a Red Hat system has.
func (m *machine) isUsed() {
	m.user("fish", "--private", "-c", "true")
	m.root("mandb", "--quiet")
	m.root("mkdir", "-p", "/usr/share/zsh/site-functions")
}

// send copies a file into the system.
func (m *machine) send(file, to string) {
	m.Helper()
	output(m.T, exec.Command("cp", file, filepath.Join(m.folder, to)))
}

// uses tries all parts of an installation.
func (m *machine) uses(p placed) {
	m.Helper()
	m.Run("program", func(t *testing.T) { m.with(t).runsAnywhere(p) })
	m.Run("manual", func(t *testing.T) {
		has(t, m.with(t).user("man", "-P", "cat", p.man), "Session server for AI chat in editors")
	})
	m.Run("completions", func(t *testing.T) { m.with(t).completes(p) })
	m.Run("on demand", func(t *testing.T) { m.with(t).servesOnDemand(p.program) })
	m.Run("service", func(t *testing.T) { m.with(t).servesAsService(p.program) })
}

// runsAnywhere checks that the program needs no libraries.
func (m *machine) runsAnywhere(p placed) {
	has(m.T, m.user("file", "--brief", p.program), "ELF 64-bit", "statically linked")
	if out, err := m.userCommand("ldd", p.program).CombinedOutput(); err == nil || !strings.Contains(string(out), "not a dynamic executable") {
		m.Errorf("ldd: %v, %s", err, out)
	}
	has(m.T, m.user(p.program, "version"), "strata ", "linux/")
}

// completes checks that each shell completes a command.
func (m *machine) completes(p placed) {
	load := "_completion_loader strata || test $? = 124"
	if p.bash != "" {
		load = "source " + p.bash
	}
	folder := filepath.Dir(p.program)
	has(m.T, m.user("bash", "--norc", "-c", `PATH=`+folder+`:$PATH; source /usr/share/bash-completion/bash_completion; `+load+`
		COMP_WORDS=(strata ser) COMP_CWORD=1 COMP_LINE="strata ser" COMP_POINT=10 COMP_TYPE=9
		__start_strata; printf '%s\n' "${COMPREPLY[@]}"`), "serve", "service")
	has(m.T, m.user("zsh", "-fc", "fpath=("+p.zsh+" $fpath); autoload -Uz compinit; compinit -D; echo $_comps[strata]; autoload +X _strata; whence -w _strata"),
		"_strata\n", "_strata: function")
	source := ""
	if p.fish != "" {
		source = "source " + p.fish + "; "
	}
	has(m.T, m.user("fish", "--private", "-c", "set -p PATH "+folder+"; "+source+"complete -C 'strata ser'"), "serve", "service")
}

// servesOnDemand checks that an editor starts a server without a service.
func (m *machine) servesOnDemand(program string) {
	m.edits(program)
	has(m.T, m.user(program, "health"), "responds")
	m.user(program, "stop")
}

// servesAsService checks that the connection of an editor makes systemd start the server.
func (m *machine) servesAsService(program string) {
	has(m.T, m.user(program, "service", "install"), "installed ", "the service listens at 127.0.0.1:7717")
	if state := m.state("strata.service"); state != "inactive" {
		m.Fatalf("the service is %s before a connection", state)
	}
	m.edits(program)
	if state := m.state("strata.service"); state != "active" {
		m.Errorf("the service is %s after a connection", state)
	}
	has(m.T, m.user(program, "service", "status"), "socket     active", "service    active", "server     process "+m.show("MainPID")+" at ")
	has(m.T, m.user(program, "service", "logs"), `"msg":"listening"`)
	m.user(program, "service", "uninstall")
	if state := m.state("strata.socket"); state != "inactive" {
		m.Errorf("the socket is %s after the removal", state)
	}
	if out, err := m.userCommand(program, "health").CombinedOutput(); err == nil {
		m.Errorf("the server runs after the removal of the service: %s", out)
	}
}

// state returns the state of a unit of the user.
func (m *machine) state(unit string) string {
	out, _ := m.userCommand("systemctl", "--user", "is-active", unit).Output() // fails unless active
	return strings.TrimSpace(string(out))
}

// show returns a property of the service.
func (m *machine) show(property string) string {
	m.Helper()
	return strings.TrimSpace(m.user("systemctl", "--user", "show", "--property", property, "--value", "strata.service"))
}

// edits is the session of an editor, in which the model runs a command.
func (m *machine) edits(program string) {
	m.Helper()
	e := openEditor(m.T, m.userCommand(program, "stdio"))
	defer e.Close()
	session := e.NewSession(project)
	updates := prompted(m.T, e, session, "say Started.\ncall run_command {\"command\": \"uname\"}\n---\nsay Ready.", "Ready.")
	has(m.T, updates, "Started.", "Linux")
	var listed struct{ Sessions []struct{ SessionID string } }
	if err := e.Call("session/list", map[string]any{}, &listed); err != nil ||
		!slices.ContainsFunc(listed.Sessions, func(s struct{ SessionID string }) bool { return s.SessionID == session }) {
		m.Errorf("the list has no session %s: %v, %v", session, listed, err)
	}
}

// leavesOnlyData checks that a removed installation has left only the user's data, and removes these.
func (m *machine) leavesOnlyData(before tree) {
	m.Helper()
	data := false
	for _, line := range changes(before, m.files()) {
		path, added := strings.CutPrefix(line, "added ")
		inside := slices.ContainsFunc(userData, func(top string) bool {
			return path == top || strings.HasSuffix(top, "/strata") && strings.HasPrefix(path, top+"/")
		})
		if !added || !inside {
			m.Error(line)
		}
		data = data || strings.HasSuffix(path, "/strata.db")
	}
	if !data {
		m.Error("the database is gone")
	}
	m.shell("rm -r ~/.local/share/strata ~/.local/state")
}
