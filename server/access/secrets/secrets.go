// Package secrets keeps texts in the keyring of the system: the Secret Service on Linux, the Keychain on macOS, the
// Credential Manager on Windows.
//
// It must never wait without a limit for a keyring, start a program that provides one, or put a secret into an error.
package secrets

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/zalando/go-keyring"
)

// service is the name under which the keyring shows the secrets.
const service = "strata"

// DefaultLimit is the maximum time that a keyring may take, for example to let the user unlock it.
const DefaultLimit = 30 * time.Second

// ErrUnavailable means that there is no keyring, or that it cannot be used now, for example because it is locked.
var ErrUnavailable = errors.New("the system's keyring is not available")

// ErrMissing means that the keyring does not contain a secret.
var ErrMissing = errors.New("the system's keyring does not contain it")

// backend is the interface of a keyring. Its methods may block.
type backend interface {
	Set(service, name, secret string) error
	Get(service, name string) (string, error)
	Delete(service, name string) error
}

// pause is the time after a failed Get in which others fail with the same error: each could ask the user to unlock the keyring.
const pause = 10 * time.Second

// Keyring is a keyring. Its methods are safe for concurrent use.
type Keyring struct {
	limit   time.Duration
	backend backend
	reason  string // why there is none; empty if there is one

	mu      sync.Mutex
	running chan struct{} // closed at the end of the running call; nil if none is running
	late    bool          // the running call has exceeded the limit
	failure error         // of the last Get; nil if the keyring has responded since
	failed  time.Time
}

// System returns the keyring of the user's session, none if getenv is nil.
func System(getenv func(string) string, limit time.Duration) *Keyring {
	if getenv == nil {
		return None("the session is unknown")
	}
	return &Keyring{limit: limit, backend: system{}, reason: missing(getenv, runtime.GOOS)}
}

// None returns a keyring that is never available.
func None(reason string) *Keyring { return &Keyring{reason: reason} }

// missing returns why a system has no keyring. On Linux a keyring is a service of the session's D-Bus; without a bus, the
// library would start one.
func missing(getenv func(string) string, goos string) string {
	switch goos {
	case "darwin", "windows":
		return ""
	case "linux", "freebsd", "netbsd", "openbsd":
	default:
		return "none is known for this system"
	}
	if address := getenv("DBUS_SESSION_BUS_ADDRESS"); address != "" {
		if strings.HasPrefix(address, "autolaunch:") {
			return "the session has no D-Bus"
		}
		return ""
	}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(filepath.Join(dir, "bus")); err == nil && info.Mode().Type() == fs.ModeSocket {
			return ""
		}
	}
	return "the session has no D-Bus"
}

// Set stores a secret. Errors wrap ErrUnavailable.
func (k *Keyring) Set(name, secret string) error {
	_, err := k.call(func() (string, error) { return "", k.backend.Set(service, name, secret) })
	return err
}

// Get returns a secret. Errors wrap ErrUnavailable, or ErrMissing.
func (k *Keyring) Get(name string) (string, error) {
	if err := k.paused(); err != nil {
		return "", err
	}
	secret, err := k.call(func() (string, error) { return k.backend.Get(service, name) })
	if errors.Is(err, ErrUnavailable) {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.failure, k.failed = err, time.Now()
	}
	return secret, err
}

// paused returns the error of the last Get, if that was a moment ago.
func (k *Keyring) paused() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if time.Since(k.failed) < pause {
		return k.failure
	}
	return nil
}

// Delete removes a secret. Errors are those of Get.
func (k *Keyring) Delete(name string) error {
	_, err := k.call(func() (string, error) { return "", k.backend.Delete(service, name) })
	return err
}

// call runs a call after those that are running, for at most the limit. A call that does not return is left behind; until it
// does, others fail at once, so at most one is left behind.
func (k *Keyring) call(do func() (string, error)) (string, error) {
	if k.reason != "" {
		return "", fmt.Errorf("%w: %s", ErrUnavailable, k.reason)
	}
	timeout := time.NewTimer(k.limit)
	defer timeout.Stop()
	running, err := k.begin(timeout.C)
	if err != nil {
		return "", err
	}
	type result struct {
		secret string
		err    error
	}
	done := make(chan result, 1)
	go func() { // ends when the keyring responds
		secret, err := do()
		err = translate(err)
		k.end(running, err)
		done <- result{secret, err}
	}()
	select {
	case r := <-done:
		return r.secret, r.err
	case <-timeout.C:
		k.mu.Lock()
		defer k.mu.Unlock()
		k.late = k.running == running
		return "", errSilent
	}
}

var errSilent = fmt.Errorf("%w: it does not respond, or is locked", ErrUnavailable)

// begin waits until no call is running, and begins one.
func (k *Keyring) begin(timeout <-chan time.Time) (running chan struct{}, err error) {
	for {
		k.mu.Lock()
		other, late := k.running, k.late
		if other == nil {
			running = make(chan struct{})
			k.running = running
			k.mu.Unlock()
			return running, nil
		}
		k.mu.Unlock()
		if late {
			return nil, fmt.Errorf("%w: it has not responded yet", ErrUnavailable)
		}
		select {
		case <-other:
		case <-timeout:
			return nil, errSilent
		}
	}
}

func (k *Keyring) end(running chan struct{}, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running, k.late = nil, false
	if !errors.Is(err, ErrUnavailable) {
		k.failure = nil
	}
	close(running)
}

func translate(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, keyring.ErrNotFound):
		return ErrMissing
	}
	return fmt.Errorf("%w: %s", ErrUnavailable, strings.Join(strings.Fields(err.Error()), " "))
}

// system is the library's keyring.
type system struct{}

func (system) Set(service, name, secret string) error   { return keyring.Set(service, name, secret) }
func (system) Get(service, name string) (string, error) { return keyring.Get(service, name) }
func (system) Delete(service, name string) error        { return keyring.Delete(service, name) }

// Memory are the texts of a keyring for tests, by service and name.
type Memory map[string]string

// Fake returns a keyring in memory, for tests.
func Fake(texts Memory) *Keyring { return &Keyring{limit: DefaultLimit, backend: texts} }

// Set stores a text.
func (m Memory) Set(service, name, secret string) error {
	m[service+"/"+name] = secret
	return nil
}

// Get returns a text.
func (m Memory) Get(service, name string) (string, error) {
	text, ok := m[service+"/"+name]
	if !ok {
		return "", keyring.ErrNotFound
	}
	return text, nil
}

// Delete removes a text.
func (m Memory) Delete(service, name string) error {
	if _, err := m.Get(service, name); err != nil {
		return err
	}
	delete(m, service+"/"+name)
	return nil
}
