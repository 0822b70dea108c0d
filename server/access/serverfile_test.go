package access

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var databasePath, _ = filepath.Abs("/var/lib/strata/strata.db")

func someServer() ServerFile {
	return ServerFile{URL: "http://127.0.0.1:7717", Token: NewToken(), PID: 4711, Database: databasePath, Version: "1.2.3"}
}

func TestServerFileComesBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata", "server.json")
	if _, err := ReadServerFile(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want fs.ErrNotExist", err)
	}
	for range 2 { // a second server writes over the first one's
		want := someServer()
		if err := WriteServerFile(path, want); err != nil {
			t.Fatal(err)
		}
		got, err := ReadServerFile(path)
		if err != nil || !got.Token.Matches(want.Token.Reveal()) {
			t.Fatalf("another token, or error %v", err)
		}
		got.Token = want.Token
		if got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
	onlyFile(t, path)
}

func TestServerFileNamesAreThoseThatEditorsRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.json")
	want := someServer()
	if err := WriteServerFile(path, want); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var content map[string]any
	if err := json.Unmarshal(data, &content); err != nil {
		t.Fatal(err)
	}
	if content["url"] != want.URL || content["token"] != want.Token.Reveal() || content["pid"] != 4711.0 || content["database"] != want.Database {
		t.Error("url, token, pid or database is missing")
	}
}

func TestServerFileIsChecked(t *testing.T) {
	token := NewToken().Reveal()
	good := map[string]any{"url": "ws://[::1]:7717/acp", "token": token, "pid": 1, "database": databasePath, "later": "field"}
	for name, change := range map[string]func(map[string]any){
		"":                 func(map[string]any) {},
		"no url":           func(m map[string]any) { delete(m, "url") },
		"another scheme":   func(m map[string]any) { m["url"] = "file:///etc/passwd" },
		"scheme, no host":  func(m map[string]any) { m["url"] = "http:" },
		"a user":           func(m map[string]any) { m["url"] = "http://a:" + token + "@127.0.0.1:1" },
		"a query":          func(m map[string]any) { m["url"] = "http://127.0.0.1:1/?token=" + token },
		"a broken url":     func(m map[string]any) { m["url"] = "http://%zz" + token },
		"no token":         func(m map[string]any) { delete(m, "token") },
		"a short token":    func(m map[string]any) { m["token"] = token[1:] },
		"a number for it":  func(m map[string]any) { m["token"] = 7 },
		"no pid":           func(m map[string]any) { delete(m, "pid") },
		"a negative pid":   func(m map[string]any) { m["pid"] = -1 },
		"a text for a pid": func(m map[string]any) { m["pid"] = token },
		"no database":      func(m map[string]any) { delete(m, "database") },
		"a relative one":   func(m map[string]any) { m["database"] = "strata.db" },
	} {
		t.Run(name, func(t *testing.T) {
			content := map[string]any{}
			for k, v := range good {
				content[k] = v
			}
			change(content)
			data, err := json.Marshal(content)
			if err != nil {
				t.Fatal(err)
			}
			path := writeFile(t, data)
			_, err = ReadServerFile(path)
			if name == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), path) {
				t.Fatalf("error %v, want one that names the file", err)
			}
			if strings.Contains(err.Error(), token[1:]) {
				t.Errorf("the error contains the token: %v", err)
			}
		})
	}
	for name, data := range map[string]string{
		"empty": "", "not JSON": token, "an array": "[]", "cut off": `{"url": "http://1`, "too large": strings.Repeat(" ", maxServerFile) + "{}",
	} {
		if _, err := ReadServerFile(writeFile(t, []byte(data))); err == nil || strings.Contains(err.Error(), token) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	if err := WriteServerFile(filepath.Join(t.TempDir(), "server.json"), ServerFile{URL: "http://127.0.0.1:1", PID: 1, Database: databasePath}); err == nil {
		t.Error("a file without a token was written")
	}
}

func writeFile(t *testing.T, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "server.json")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestServerFileIsRemovedByItsWriterOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.json")
	if err := RemoveServerFile(path, 4711); err != nil {
		t.Fatalf("no file: %v", err)
	}
	if err := WriteServerFile(path, someServer()); err != nil {
		t.Fatal(err)
	}
	if err := RemoveServerFile(path, 4712); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Fatalf("another server's file is missing: %v", err)
	}
	if err := RemoveServerFile(path, 4711); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is still there, or error %v", err)
	}
}

func TestServerFilePath(t *testing.T) {
	runtimeDir, stateDir := t.TempDir(), t.TempDir()
	for name, test := range map[string]struct{ xdg, want string }{
		"runtime folder": {runtimeDir, filepath.Join(runtimeDir, "strata", "server.json")},
		"not set":        {"", filepath.Join(stateDir, "server.json")},
		"relative":       {"run", filepath.Join(stateDir, "server.json")},
		"missing":        {filepath.Join(runtimeDir, "gone"), filepath.Join(stateDir, "server.json")},
		"not a folder":   {writeFile(t, nil), filepath.Join(stateDir, "server.json")},
	} {
		getenv := func(key string) string {
			if key == "XDG_RUNTIME_DIR" {
				return test.xdg
			}
			return ""
		}
		if got := ServerFilePath(getenv, stateDir); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestFindServerBelievesTheHolderOfTheLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.json")
	want := someServer()
	unasked := func(string) (int, bool) { t.Error("the lock was queried without a file"); return 0, false }
	if _, err := FindServer(path, unasked); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want fs.ErrNotExist", err)
	}
	if err := WriteServerFile(path, want); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		pid  int
		held bool
		ok   bool
	}{
		"held by it":            {want.PID, true, true},
		"held by another":       {want.PID + 1, true, false},
		"held by nobody":        {0, false, false},
		"its pid, but not held": {want.PID, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := FindServer(path, func(db string) (int, bool) {
				if db != want.Database {
					t.Errorf("queried %s", db)
				}
				return test.pid, test.held
			})
			if test.ok {
				if err != nil || !got.Token.Matches(want.Token.Reveal()) {
					t.Errorf("another token, or error %v", err)
				}
				return
			}
			if !errors.Is(err, ErrStale) || !got.Token.IsZero() {
				t.Errorf("error %v, want ErrStale and nothing else", err)
			}
			noSecret(t, err.Error(), want.Token)
		})
	}
}
