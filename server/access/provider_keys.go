package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"

	"strata/internal/apikey"
	"strata/server/access/secrets"
)

// maxKeyFile leaves room for blank lines around a key.
const maxKeyFile = apikey.MaxBytes + 64 // bytes

// reference begins a file whose key is in the system's keyring. The name in the keyring follows. It contains a space, so it
// is no key.
const reference = "in keyring: "

// ProviderKeys is the folder in which `strata login` stores the API keys of providers: one private file per provider,
// with its name. The file contains the key, or its name in the system's keyring. A provider's name has no separators and
// does not begin with a dot. Methods are safe for concurrent use, also by several processes.
type ProviderKeys struct {
	folder string
	ring   *secrets.Keyring

	mu    sync.Mutex
	known map[string]string // keys by their name in the keyring, which is another one after each login
}

// KeysIn returns the folder of keys in the state folder.
func KeysIn(stateDir string, ring *secrets.Keyring) *ProviderKeys {
	return &ProviderKeys{folder: filepath.Join(stateDir, "keys"), ring: ring, known: make(map[string]string)}
}

// Folder returns the path of the folder, which may not exist.
func (k *ProviderKeys) Folder() string { return k.folder }

// Path returns the path of a provider's file, which may not exist.
func (k *ProviderKeys) Path(provider string) string { return filepath.Join(k.folder, provider) }

// Load returns the key of a provider; empty if none is stored. Errors wrap ErrExposed, apikey.ErrForm,
// secrets.ErrUnavailable or secrets.ErrMissing, and never contain the key.
func (k *ProviderKeys) Load(provider string) (string, error) {
	key, name, err := k.read(provider)
	if name != "" {
		key, err = k.fromKeyring(provider, name)
	}
	if err != nil || key == "" {
		return "", err
	}
	if err := apikey.Check(key); err != nil {
		return "", fmt.Errorf("stored key: %s: %w", k.Path(provider), err)
	}
	return key, nil
}

// read returns the key in a provider's file, or its name in the keyring; both are empty if there is no file.
func (k *ProviderKeys) read(provider string) (key, name string, err error) {
	data, err := readPrivate(k.Path(provider), maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", nil
	}
	if err != nil {
		return "", "", fmt.Errorf("stored key: %w", err)
	}
	key = strings.TrimSpace(string(data))
	if name, found := strings.CutPrefix(key, reference); found {
		return "", name, nil
	}
	if key == "" {
		return "", "", fmt.Errorf("stored key: %s: %w", k.Path(provider), apikey.ErrForm)
	}
	return key, "", nil
}

func (k *ProviderKeys) fromKeyring(provider, name string) (string, error) {
	k.mu.Lock()
	key, found := k.known[name]
	k.mu.Unlock()
	if found {
		return key, nil
	}
	key, err := k.ring.Get(name)
	if errors.Is(err, secrets.ErrMissing) {
		return "", fmt.Errorf("stored key of %s: %w: run `strata login %s`", provider, err, provider)
	}
	if err != nil {
		return "", fmt.Errorf("stored key of %s: %w; unlock the keyring, or run `strata login --key-store file %s`", provider, err, provider)
	}
	k.mu.Lock()
	k.known[name] = key
	k.mu.Unlock()
	return key, nil
}

// Save stores the key of a provider in a file, durably and atomically. It creates the file (0600) and missing folders (0700).
// The error wraps apikey.ErrForm if key is no key, and never contains it.
func (k *ProviderKeys) Save(provider, key string) error { return k.save(provider, key, key) }

// SaveInKeyring stores the key of a provider in the system's keyring, and its name there in a file, as Save does. The error
// wraps secrets.ErrUnavailable if that is not possible; then nothing has changed.
func (k *ProviderKeys) SaveInKeyring(provider, key string) error {
	if err := apikey.Check(key); err != nil {
		return err
	}
	name := provider + " " + ulid.Make().String()
	if err := k.ring.Set(name, key); err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	if err := k.save(provider, key, reference+name); err != nil {
		return errors.Join(err, k.ring.Delete(name))
	}
	return nil
}

// save writes the content of a provider's file, and removes the key from the keyring that it replaces.
func (k *ProviderKeys) save(provider, key, content string) error {
	if err := apikey.Check(key); err != nil {
		return err
	}
	_, old, _ := k.read(provider) // a file that cannot be read is replaced
	if err := replacePrivate(k.Path(provider), []byte(content+"\n")); err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	if old != "" {
		_ = k.ring.Delete(old) // nothing uses it any more
	}
	return nil
}

// Remove removes the key of a provider, also from the keyring. The error wraps fs.ErrNotExist if none is stored, or
// secrets.ErrUnavailable; then nothing has changed.
func (k *ProviderKeys) Remove(provider string) error {
	if _, name, err := k.read(provider); err == nil && name != "" {
		if err := k.ring.Delete(name); err != nil && !errors.Is(err, secrets.ErrMissing) {
			return fmt.Errorf("remove key: %w; unlock the keyring and try again", err)
		}
	}
	if err := os.Remove(k.Path(provider)); err != nil {
		return fmt.Errorf("remove key: %w", err)
	}
	return syncFolder(k.folder)
}

// InKeyring reports whether the stored key of a provider is in the system's keyring.
func (k *ProviderKeys) InKeyring(provider string) bool {
	_, name, err := k.read(provider)
	return err == nil && name != ""
}
