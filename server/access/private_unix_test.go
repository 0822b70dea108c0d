//go:build unix

package access

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"strata/server/access/secrets"
)

func TestPrivateFilesHavePrivateModes(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0)) // the most open one
	folder := filepath.Join(t.TempDir(), "a", "b")
	token := filepath.Join(folder, "token")
	server := filepath.Join(folder, "server.json")
	if _, err := LoadOrCreateToken(token); err != nil {
		t.Fatal(err)
	}
	if _, err := RotateToken(token); err != nil {
		t.Fatal(err)
	}
	if err := WriteServerFile(server, someServer()); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{
		token: 0o600, server: 0o600, folder: fs.ModeDir | 0o700, filepath.Dir(folder): fs.ModeDir | 0o700,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, error %v; want %v", path, info.Mode(), err, want)
		}
	}
}

func TestExposedFilesAreRefused(t *testing.T) {
	for _, mode := range []fs.FileMode{0o644, 0o640, 0o604, 0o660, 0o620, 0o602, 0o610, 0o601} {
		t.Run(fmt.Sprintf("%04o", mode), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "token")
			if _, err := LoadOrCreateToken(path); err != nil {
				t.Fatal(err)
			}
			chmod(t, path, mode)
			_, err := LoadOrCreateToken(path)
			wantExposed(t, err, fmt.Sprintf("%04o", mode), "chmod 600 "+path)
			if _, err := RotateToken(path); err != nil {
				t.Fatalf("rotation does not repair it: %v", err)
			}
			if _, err := LoadToken(path); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestExposedServerFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.json")
	if err := WriteServerFile(path, someServer()); err != nil {
		t.Fatal(err)
	}
	chmod(t, path, 0o640)
	_, err := ReadServerFile(path)
	wantExposed(t, err, "chmod 600 "+path)
}

func TestExposedFoldersAreRefused(t *testing.T) {
	for mode, exposed := range map[fs.FileMode]bool{
		0o700: false, 0o755: false, 0o777 | fs.ModeSticky: false, 0o775: true, 0o777: true, 0o707: true,
	} {
		t.Run(mode.String(), func(t *testing.T) {
			folder := filepath.Join(t.TempDir(), "strata")
			path := filepath.Join(folder, "token")
			if _, err := LoadOrCreateToken(path); err != nil {
				t.Fatal(err)
			}
			chmod(t, folder, mode)
			_, readErr := LoadToken(path)
			_, writeErr := RotateToken(path)
			for _, err := range []error{readErr, writeErr} {
				if !exposed && err != nil {
					t.Error(err)
				}
				if exposed {
					wantExposed(t, err, "chmod 700 "+folder)
				}
			}
		})
	}
}

func TestFilesOfOtherUsersAreRefused(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give files away")
	}
	path := filepath.Join(t.TempDir(), "token")
	if _, err := LoadOrCreateToken(path); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(path, 12345, -1); err != nil {
		t.Skip("the file system keeps owners:", err)
	}
	_, err := LoadToken(path)
	wantExposed(t, err, "user 12345")
	if err := os.Chown(filepath.Dir(path), 12345, -1); err != nil {
		t.Fatal(err)
	}
	_, err = RotateToken(path)
	wantExposed(t, err, "user 12345")
}

func TestNamedPipeIsRefusedAndNotWaitedFor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no named pipes here:", err)
	}
	if _, err := LoadToken(path); err == nil || !strings.Contains(err.Error(), "regular file") {
		t.Errorf("error %v", err)
	}
}

func TestTokenBehindASymlink(t *testing.T) {
	folder := t.TempDir()
	path, link := filepath.Join(folder, "token"), filepath.Join(folder, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	token, err := LoadOrCreateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := LoadToken(link); err != nil || !got.Matches(token.Reveal()) {
		t.Errorf("not the token, or error %v", err)
	}
}

func chmod(t *testing.T, path string, mode fs.FileMode) {
	t.Helper()
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func wantExposed(t *testing.T, err error, parts ...string) {
	t.Helper()
	if !errors.Is(err, ErrExposed) {
		t.Fatalf("error %v, want ErrExposed", err)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("error %q does not say %q", err, part)
		}
	}
}

func TestStoredKeysThatOthersCanReadAreRefused(t *testing.T) {
	k := KeysIn(t.TempDir(), secrets.None("none"))
	if err := k.Save("openai", aKey); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]fs.FileMode{k.Folder(): 0o700, k.Path("openai"): 0o600} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	for path, mode := range map[string]fs.FileMode{k.Path("openai"): 0o640, k.Folder(): 0o722} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if key, err := k.Load("openai"); key != "" || !errors.Is(err, ErrExposed) || strings.Contains(err.Error(), aKey) {
			t.Errorf("mode %o of %s: %q, %v", mode, path, key, err)
		}
		if err := os.Chmod(path, before.Mode()); err != nil {
			t.Fatal(err)
		}
	}
}
