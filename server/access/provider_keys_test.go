package access

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/apikey"
)

const aKey = "sk-test-0123456789abcdef"

func TestKeysAreStoredPrivately(t *testing.T) {
	k := KeysIn(filepath.Join(t.TempDir(), "state"))
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
	if left, err := os.ReadDir(string(k)); len(left) != 1 || err != nil {
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
	k := KeysIn(t.TempDir())
	for _, text := range []string{"", "two secrets", "one\ntwo", strings.Repeat("k", apikey.MaxBytes+1)} {
		if err := k.Save("openai", text); !errors.Is(err, apikey.ErrForm) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := os.Stat(string(k)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder was created: %v", err)
	}
	if err := os.MkdirAll(string(k), 0o700); err != nil {
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
