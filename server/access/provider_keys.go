package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"strata/internal/apikey"
)

// maxKeyFile leaves room for blank lines around a key.
const maxKeyFile = apikey.MaxBytes + 64 // bytes

// ProviderKeys is the folder in which `strata login` stores the API keys of providers: one private file per provider,
// with its name. A provider's name has no separators and does not begin with a dot. Methods are safe for concurrent use,
// also by several processes.
type ProviderKeys string

// KeysIn returns the folder of keys in the state folder.
func KeysIn(stateDir string) ProviderKeys { return ProviderKeys(filepath.Join(stateDir, "keys")) }

// Path returns the path of a provider's file, which may not exist.
func (k ProviderKeys) Path(provider string) string { return filepath.Join(string(k), provider) }

// Load returns the key of a provider; empty if none is stored. Errors wrap ErrExposed or apikey.ErrForm and never contain
// the key.
func (k ProviderKeys) Load(provider string) (string, error) {
	data, err := readPrivate(k.Path(provider), maxKeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("stored key: %w", err)
	}
	key := strings.TrimSpace(string(data))
	if err := apikey.Check(key); err != nil {
		return "", fmt.Errorf("stored key: %s: %w", k.Path(provider), err)
	}
	return key, nil
}

// Save stores the key of a provider, durably and atomically. It creates the file (0600) and missing folders (0700). The
// error wraps apikey.ErrForm if key is no key, and never contains it.
func (k ProviderKeys) Save(provider, key string) error {
	if err := apikey.Check(key); err != nil {
		return err
	}
	if err := replacePrivate(k.Path(provider), []byte(key+"\n")); err != nil {
		return fmt.Errorf("store key: %w", err)
	}
	return nil
}

// Remove removes the key of a provider. The error wraps fs.ErrNotExist if none is stored.
func (k ProviderKeys) Remove(provider string) error {
	if err := os.Remove(k.Path(provider)); err != nil {
		return fmt.Errorf("remove key: %w", err)
	}
	return syncFolder(string(k))
}
