package secrets

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"strata/internal/leak"
)

func TestMain(m *testing.M) {
	if os.Getenv(inside) != "" { // the library keeps its connection to the bus
		os.Exit(m.Run())
	}
	leak.Main(m)
}

// inside is the variable of the test's own process within a session bus.
const inside = "STRATA_TEST_INSIDE_BUS"

// slow is a keyring whose calls wait for gate, if there is one, and fail with err.
type slow struct {
	Memory
	err   error
	gate  chan struct{}
	calls int
}

func (s *slow) wait() error {
	s.calls++
	if s.gate != nil {
		<-s.gate
	}
	return s.err
}

func (s *slow) Set(service, name, secret string) error {
	return errors.Join(s.wait(), s.Memory.Set(service, name, secret))
}

func (s *slow) Get(service, name string) (string, error) {
	if err := s.wait(); err != nil {
		return "", err
	}
	return s.Memory.Get(service, name)
}

func (s *slow) Delete(service, name string) error {
	if err := s.wait(); err != nil {
		return err
	}
	return s.Memory.Delete(service, name)
}

func TestSecretsOfAKeyring(t *testing.T) {
	f := &slow{Memory: Memory{}}
	k := &Keyring{limit: time.Minute, backend: f}
	if _, err := k.Get("a"); !errors.Is(err, ErrMissing) {
		t.Errorf("before: %v", err)
	}
	if err := k.Set("a", "secret"); err != nil {
		t.Fatal(err)
	}
	if got, err := k.Get("a"); got != "secret" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if f.Memory["strata/a"] != "secret" {
		t.Errorf("the keyring has %v", f.Memory)
	}
	if err := k.Delete("a"); err != nil {
		t.Fatal(err)
	}
	if err := k.Delete("a"); !errors.Is(err, ErrMissing) {
		t.Errorf("deleted twice: %v", err)
	}
	f.err = errors.New("it is\n locked")
	for _, err := range []error{k.Set("a", "secret"), k.Delete("a")} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "it is locked") || strings.Contains(err.Error(), "secret") {
			t.Errorf("error %v", err)
		}
	}
	if err := None("of a reason").Set("a", "secret"); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "of a reason") {
		t.Errorf("error %v", err)
	}
}

// A keyring that waits for its user delays nothing beyond the limit, and has one waiting call at most.
func TestAKeyringThatDoesNotRespond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{Memory: Memory{"strata/a": "secret"}, gate: make(chan struct{})}
		k := &Keyring{limit: time.Minute, backend: f}
		began := time.Now()
		if _, err := k.Get("a"); !errors.Is(err, ErrUnavailable) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if _, err := k.Get("a"); !errors.Is(err, ErrUnavailable) || time.Since(began) != time.Minute {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		close(f.gate)
		synctest.Wait()
		if got, err := k.Get("a"); got != "secret" || err != nil {
			t.Errorf("%q, %v", got, err)
		}
	})
}

// Two calls at once, such as those of two clients that connect, both get their secret.
func TestCallsWaitForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{Memory: Memory{"strata/a": "secret"}, gate: make(chan struct{})}
		k := &Keyring{limit: time.Minute, backend: f}
		for range 2 {
			go func() {
				if got, err := k.Get("a"); got != "secret" || err != nil {
					t.Errorf("%q, %v", got, err)
				}
			}()
		}
		synctest.Wait()
		close(f.gate)
	})
}

// A user who does not unlock the keyring is not asked again at once.
func TestALockedKeyringIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{Memory: Memory{"strata/a": "secret"}, err: errors.New("it is locked")}
		k := &Keyring{limit: time.Minute, backend: f}
		for range 3 {
			if _, err := k.Get("a"); !errors.Is(err, ErrUnavailable) {
				t.Errorf("error %v", err)
			}
		}
		if f.calls != 1 {
			t.Errorf("%d calls", f.calls)
		}
		f.err = nil
		if _, err := k.Get("a"); !errors.Is(err, ErrUnavailable) {
			t.Errorf("a moment later: %v", err)
		}
		time.Sleep(pause)
		if got, err := k.Get("a"); got != "secret" || err != nil {
			t.Errorf("after the pause: %q, %v", got, err)
		}
	})
}

// Without a bus, the library is not called: it would start one.
func TestSystemsWithoutAKeyring(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"XDG_RUNTIME_DIR": dir}
	getenv := func(name string) string { return env[name] }
	if missing(getenv, "linux") == "" {
		t.Error("a bus without a socket")
	}
	if err := os.WriteFile(filepath.Join(dir, "bus"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if missing(getenv, "linux") == "" {
		t.Error("a bus that is a file")
	}
	if err := os.Remove(filepath.Join(dir, "bus")); err != nil {
		t.Fatal(err)
	}
	if l, err := net.Listen("unix", filepath.Join(dir, "bus")); err == nil { // else the path is too long
		defer l.Close()
		if reason := missing(getenv, "linux"); reason != "" {
			t.Error(reason)
		}
	}
	for address, found := range map[string]bool{"autolaunch:": false, "unix:path=/somewhere": true} {
		env = map[string]string{"DBUS_SESSION_BUS_ADDRESS": address}
		if (missing(getenv, "linux") == "") != found {
			t.Errorf("%s: %q", address, missing(getenv, "linux"))
		}
	}
	env = nil
	for system, found := range map[string]bool{"darwin": true, "windows": true, "plan9": false, "freebsd": false} {
		if (missing(getenv, system) == "") != found {
			t.Errorf("%s: %q", system, missing(getenv, system))
		}
	}
}
