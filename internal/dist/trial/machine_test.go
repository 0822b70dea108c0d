//go:build linux

package trial

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

const (
	account = "ada"
	home    = "/home/" + account
	project = home + "/project"
)

// bootLimit is the time after which a boot is considered hung.
const bootLimit = 5 * time.Minute

// machine is a clean system that systemd has booted in its own namespaces, without a network.
type machine struct {
	*testing.T
	folder string // root of its file system, as this system sees it
	leader string // process id of its systemd
	uid    string // of the account
}

// boot unpacks and boots a clean system, which ends with the test.
func boot(t *testing.T) *machine {
	t.Helper()
	if *root == "" {
		t.Skip("no clean system: make dist-roots")
	}
	needs(t, "systemd-nspawn", "nsenter", "tar")
	if os.Geteuid() != 0 {
		t.Skip("only root can boot a system")
	}
	m := &machine{T: t, folder: filepath.Join(t.TempDir(), "root")}
	if err := os.Mkdir(m.folder, 0o755); err != nil {
		t.Fatal(err)
	}
	output(t, exec.Command("tar", "-C", m.folder, "--numeric-owner", "-xpf", *root))
	m.start()
	m.uid = strings.TrimSpace(m.root("id", "-u", account))
	m.root("install", "-d", "-o", account, "-g", account, project)
	m.root("systemctl", "start", "user@"+m.uid+".service")
	return m
}

// start returns when the system is up.
func (m *machine) start() {
	m.Helper()
	notify, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: m.folder + ".notify", Net: "unixgram"})
	if err != nil {
		m.Fatal(err)
	}
	defer notify.Close()
	nspawn := exec.Command("systemd-nspawn", "--directory", m.folder, "--machine", "strata-trial", "--boot", "--notify-ready=yes",
		"--register=no", "--keep-unit", "--private-network", "--link-journal=no", "--resolv-conf=off", "--timezone=off", "--console=pipe")
	nspawn.Env = append(os.Environ(), "NOTIFY_SOCKET="+m.folder+".notify")
	var log bytes.Buffer
	nspawn.Stdout, nspawn.Stderr = &log, &log
	if err := nspawn.Start(); err != nil {
		m.Fatal(err)
	}
	m.Cleanup(func() {
		exec.Command("kill", "-KILL", m.leader).Run() // ends all processes of the system, and so nspawn
		nspawn.Wait()
	})
	if err := m.awaitReady(notify); err != nil {
		nspawn.Process.Kill()
		m.Fatalf("the system does not boot: %v\n%s", err, &log)
	}
}

var leaderLine = regexp.MustCompile(`(?m)^X_NSPAWN_LEADER_PID=(\d+)$`)

// awaitReady reads the messages of nspawn until the system is up.
func (m *machine) awaitReady(notify *net.UnixConn) error {
	notify.SetReadDeadline(time.Now().Add(bootLimit))
	buffer := make([]byte, 4096)
	for {
		n, err := notify.Read(buffer)
		if err != nil {
			return err
		}
		message := string(buffer[:n])
		if found := leaderLine.FindStringSubmatch(message); found != nil {
			m.leader = found[1]
		}
		if strings.Contains("\n"+message, "\nREADY=1") && m.leader != "" {
			return nil
		}
	}
}

// command returns a command of root in the system.
func (m *machine) command(args ...string) *exec.Cmd {
	enter := []string{"--target", m.leader, "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "--wd=/",
		"env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root", "TERM=dumb"}
	return exec.Command("nsenter", append(enter, args...)...)
}

// root runs a command as root.
func (m *machine) root(args ...string) string {
	m.Helper()
	return output(m.T, m.command(args...))
}

// userCommand returns a command of the user, in a terminal's environment and the project's folder.
func (m *machine) userCommand(args ...string) *exec.Cmd {
	as := []string{"runuser", "-u", account, "--", "env", "-C", project,
		"HOME=" + home, "XDG_RUNTIME_DIR=/run/user/" + m.uid, "PATH=/usr/local/bin:/usr/bin:/bin"}
	return m.command(append(as, args...)...)
}

// user runs a command as the user.
func (m *machine) user(args ...string) string {
	m.Helper()
	return output(m.T, m.userCommand(args...))
}

// shell runs a line of sh as the user.
func (m *machine) shell(format string, args ...any) string {
	m.Helper()
	return m.user("sh", "-ec", fmt.Sprintf(format, args...))
}

// with returns the machine for a subtest.
func (m *machine) with(t *testing.T) *machine {
	inner := *m
	inner.T = t
	return &inner
}
