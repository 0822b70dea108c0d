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
	"sync/atomic"
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

// Keyring is a keyring. Its methods are safe for concurrent use.
type Keyring struct {
	limit   time.Duration
	backend backend
	reason  string // why there is none; empty if there is one
	busy    atomic.Bool
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
	return k.call(func() (string, error) { return k.backend.Get(service, name) })
}

// Delete removes a secret. Errors are those of Get.
func (k *Keyring) Delete(name string) error {
	_, err := k.call(func() (string, error) { return "", k.backend.Delete(service, name) })
	return err
}

// call runs a call for at most the limit. A call that takes longer continues in its goroutine; until it returns, all others
// fail immediately, so at most one goroutine waits.
func (k *Keyring) call(do func() (string, error)) (string, error) {
	if k.reason != "" {
		return "", fmt.Errorf("%w: %s", ErrUnavailable, k.reason)
	}
	if !k.busy.CompareAndSwap(false, true) {
		return "", fmt.Errorf("%w: it has not responded yet", ErrUnavailable)
	}
	type result struct {
		secret string
		err    error
	}
	done := make(chan result, 1)
	go func() { // ends when the keyring responds
		secret, err := do()
		k.busy.Store(false)
		done <- result{secret, err}
	}()
	timeout := time.NewTimer(k.limit)
	defer timeout.Stop()
	select {
	case r := <-done:
		return r.secret, translate(r.err)
	case <-timeout.C:
		return "", fmt.Errorf("%w: it does not respond, or is locked", ErrUnavailable)
	}
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
