package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
)

const (
	serverFileName = "server.json"
	maxServerFile  = 64 << 10 // bytes
)

// ErrStale means that the server that wrote a server file no longer runs.
var ErrStale = errors.New("server.json is stale")

// ServerFile is the content of the file by which clients of the same user find a running server.
type ServerFile struct {
	URL      string // http, https, ws or wss
	Token    Token
	PID      int
	Database string // path; the server holds its lock
	Version  string
}

// serverFileJSON is the encoding of a ServerFile, the only one that contains the token.
type serverFileJSON struct {
	URL      string `json:"url"`
	Token    string `json:"token"`
	PID      int    `json:"pid"`
	Database string `json:"database"`
	Version  string `json:"version,omitempty"`
}

// ServerFilePath returns the path of the file: in $XDG_RUNTIME_DIR/strata if that variable names a folder, else in stateDir.
func ServerFilePath(getenv func(string) string, stateDir string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return filepath.Join(dir, "strata", serverFileName)
		}
	}
	return filepath.Join(stateDir, serverFileName)
}

// WriteServerFile writes the file (0600) durably and atomically. It creates missing folders (0700).
func WriteServerFile(path string, f ServerFile) error {
	if err := f.check(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	data, err := json.MarshalIndent(serverFileJSON{f.URL, f.Token.Reveal(), f.PID, f.Database, f.Version}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := replacePrivate(path, append(data, '\n')); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// ReadServerFile reads the file. The server may no longer run: see FindServer. Errors wrap fs.ErrNotExist or ErrExposed,
// or describe what is invalid without quoting the content.
func ReadServerFile(path string) (ServerFile, error) {
	data, err := readPrivate(path, maxServerFile)
	if err != nil {
		return ServerFile{}, fmt.Errorf("server file: %w", err)
	}
	var content serverFileJSON
	if err := json.Unmarshal(data, &content); err != nil {
		return ServerFile{}, fmt.Errorf("server file %s: invalid JSON", path)
	}
	token, err := ParseToken(content.Token)
	if err != nil {
		return ServerFile{}, fmt.Errorf("server file %s: %w", path, err)
	}
	f := ServerFile{content.URL, token, content.PID, content.Database, content.Version}
	if err := f.check(); err != nil {
		return ServerFile{}, fmt.Errorf("server file %s: %w", path, err)
	}
	return f, nil
}

func (f ServerFile) check() error {
	u, err := url.Parse(f.URL)
	switch {
	case err != nil || u.Host == "" || u.User != nil || u.RawQuery != "":
		return errors.New("its url is invalid")
	case u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "ws" && u.Scheme != "wss":
		return errors.New("its url is not http, https, ws or wss")
	case f.Token.IsZero():
		return errors.New("it has no token")
	case f.PID <= 0:
		return fmt.Errorf("its pid is %d", f.PID)
	case !filepath.IsAbs(f.Database):
		return errors.New("its database is not an absolute path")
	}
	return nil
}

// RemoveServerFile removes the file if the process pid wrote it. It keeps another server's file, and a missing file is no
// error.
func RemoveServerFile(path string, pid int) error {
	f, err := ReadServerFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if f.PID != pid {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove server file: %w", err)
	}
	return nil
}

// FindServer reads the file and returns an error unless the process in it holds the lock of the database in it, which
// holder finds out: the process id may belong to another program by now, and the token must not be sent to another
// program on that port. Errors are those of ReadServerFile, or wrap ErrStale.
func FindServer(path string, holder func(db string) (pid int, held bool)) (ServerFile, error) {
	f, err := ReadServerFile(path)
	if err != nil {
		return ServerFile{}, err
	}
	pid, held := holder(f.Database)
	switch {
	case !held:
		return ServerFile{}, fmt.Errorf("%w: %s names process %d, but no process has the database %s open", ErrStale, path, f.PID, f.Database)
	case pid != f.PID:
		return ServerFile{}, fmt.Errorf("%w: %s names process %d, but process %d has the database %s open", ErrStale, path, f.PID, pid, f.Database)
	}
	return f, nil
}
