package access

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/apikey"
	"strata/server/access/secrets"
)

const aKey = "sk-test-0123456789abcdef"

func TestKeysAreStoredPrivately(t *testing.T) {
	k := KeysIn(filepath.Join(t.TempDir(), "state"), secrets.None("none"))
	if key, err := k.Load("openai"); key != "" || err != nil {
		t.Errorf("before: %q, %v", key, err)
	}
	if err := k.Remove("openai"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing key is removed: %v", err)
	}
	for _, key := range []string{"sk-old", aKey} { // the second replaces the first
		if err := k.Save("openai", key); err != nil {
			t.Fatal(err)
		}
		if got, err := k.Load("openai"); got != key || err != nil {
			t.Errorf("loaded %q, %v", got, err)
		}
	}
	if other, err := k.Load("anthropic"); other != "" || err != nil {
		t.Errorf("another provider has %q, %v", other, err)
	}
	if left, err := os.ReadDir(k.Folder()); len(left) != 1 || err != nil {
		t.Errorf("the folder contains %v, %v", left, err)
	}
	if err := k.Remove("openai"); err != nil {
		t.Fatal(err)
	}
	if key, err := k.Load("openai"); key != "" || err != nil {
		t.Errorf("after: %q, %v", key, err)
	}
}

func TestTextsThatAreNoKeysAreNotStored(t *testing.T) {
	k := KeysIn(t.TempDir(), secrets.None("none"))
	for _, text := range []string{"", "two secrets", "one\ntwo", strings.Repeat("k", apikey.MaxBytes+1)} {
		if err := k.Save("openai", text); !errors.Is(err, apikey.ErrForm) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := os.Stat(k.Folder()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was created: %v", err)
	}
	if err := os.MkdirAll(k.Folder(), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "a secret of two words", strings.Repeat("k", maxKeyFile+1)} {
		if err := os.WriteFile(k.Path("openai"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := k.Load("openai")
		if key != "" || err == nil || text != "" && strings.Contains(err.Error(), text) {
			t.Errorf("%.20q: %q, %v", text, key, err)
		}
	}
}

// Without a keyring, a key is not stored in one, and a file that names one is explained.
func TestKeysWithoutAKeyring(t *testing.T) {
	k := KeysIn(t.TempDir(), secrets.None("a reason"))
	if err := k.SaveInKeyring("openai", aKey); !errors.Is(err, secrets.ErrUnavailable) || strings.Contains(err.Error(), aKey) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(k.Folder()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was created: %v", err)
	}
	if err := k.SaveInKeyring("openai", "two words"); !errors.Is(err, apikey.ErrForm) {
		t.Errorf("error %v", err)
	}
	if err := replacePrivate(k.Path("openai"), []byte(reference+"openai 1\n")); err != nil {
		t.Fatal(err)
	}
	if key, err := k.Load("openai"); key != "" || !errors.Is(err, secrets.ErrUnavailable) || !strings.Contains(err.Error(), "strata login --key-store file openai") {
		t.Errorf("loaded %q, %v", key, err)
	}
	if !k.InKeyring("openai") || k.InKeyring("anthropic") {
		t.Error("the file is not recognized")
	}
	if err := k.Remove("openai"); !errors.Is(err, secrets.ErrUnavailable) {
		t.Errorf("removed: %v", err)
	}
	if !k.InKeyring("openai") {
		t.Error("the file was removed, and the key remains in the keyring")
	}
	if err := k.Save("openai", aKey); err != nil { // replaces it
		t.Fatal(err)
	}
	if key, err := k.Load("openai"); key != aKey || err != nil {
		t.Errorf("loaded %q, %v", key, err)
	}
}

// A key in the keyring is not in its file, is replaced by each login, and is removed by a logout.
func TestKeysInAKeyring(t *testing.T) {
	texts := secrets.Memory{}
	k := KeysIn(t.TempDir(), secrets.Fake(texts))
	other := KeysIn(filepath.Dir(k.Folder()), secrets.Fake(texts)) // a running server
	for _, key := range []string{"sk-old", aKey} {
		if err := k.SaveInKeyring("openai", key); err != nil {
			t.Fatal(err)
		}
		for _, from := range []*ProviderKeys{k, other, other} {
			if got, err := from.Load("openai"); got != key || err != nil {
				t.Errorf("loaded %q, %v", got, err)
			}
		}
		if data, err := os.ReadFile(k.Path("openai")); err != nil || strings.Contains(string(data), key) || len(texts) != 1 {
			t.Errorf("the file has %q, %v; the keyring %d texts", data, err, len(texts))
		}
	}
	if err := k.Remove("openai"); err != nil {
		t.Fatal(err)
	}
	if key, err := other.Load("openai"); key != "" || err != nil || len(texts) != 0 {
		t.Errorf("after the removal: %q, %v; the keyring has %d texts", key, err, len(texts))
	}
	if err := k.SaveInKeyring("openai", aKey); err != nil {
		t.Fatal(err)
	}
	clear(texts) // by the user
	_, err := KeysIn(filepath.Dir(k.Folder()), secrets.Fake(texts)).Load("openai")
	if want := "stored key of openai: the system's keyring does not contain it: run `strata login openai`"; err == nil || err.Error() != want {
		t.Errorf("a key that is gone from the keyring: error %v, want %s", err, want)
	}
	if err := k.Remove("openai"); err != nil {
		t.Errorf("a key that is gone from the keyring: %v", err)
	}
}
