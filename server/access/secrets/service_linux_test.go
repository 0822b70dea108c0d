package secrets

import (
	"bytes"
	"os"
	"os/exec"
	"testing"
	"time"
)

// The Secret Service of GNOME, on a bus and in a home of its own.
func TestSecretService(t *testing.T) {
	if os.Getenv(inside) != "" {
		useService(t)
		return
	}
	for _, program := range []string{"dbus-run-session", "gnome-keyring-daemon"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "dbus-run-session", "--", "sh", "-c",
		`printf password | gnome-keyring-daemon --unlock --components=secrets >/dev/null && exec "$0" -test.run '^TestSecretService$' -test.v`, os.Args[0])
	cmd.Env = append(os.Environ(), inside+"=1", "HOME="+home, "XDG_DATA_HOME="+home, "XDG_RUNTIME_DIR="+home, "XDG_CONFIG_HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: TestSecretService")) {
		t.Errorf("%v\n%s", err, out)
	}
}

func useService(t *testing.T) {
	k := System(os.Getenv, time.Minute)
	if err := k.Set("provider 1", "secret"); err != nil {
		t.Fatal(err)
	}
	other := System(os.Getenv, time.Minute)
	if got, err := other.Get("provider 1"); got != "secret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if err := k.Delete("provider 1"); err != nil {
		t.Error(err)
	}
	if got, err := other.Get("provider 1"); err == nil {
		t.Errorf("after the removal: %q", got)
	}
}
