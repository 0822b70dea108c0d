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

// ErrStale says that a server file is left over: the server that wrote it does not run any more.
var ErrStale = errors.New("server.json is left over")

// ServerFile is what a running server tells the clients of its user.
type ServerFile struct {
	URL      string // where it listens: http, https, ws or wss
	Token    Token
	PID      int
	Database string // path; the process that holds its lock is the server
	Version  string
}

// serverFileJSON is the content of the file: the one place where the token stands beside other things.
type serverFileJSON struct {
	URL      string `json:"url"`
	Token    string `json:"token"`
	PID      int    `json:"pid"`
	Database string `json:"database"`
	Version  string `json:"version,omitempty"`
}

// ServerFilePath is where the file is: in $XDG_RUNTIME_DIR/strata if that variable names a folder, else in stateDir.
func ServerFilePath(getenv func(string) string, stateDir string) string {
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return filepath.Join(dir, "strata", serverFileName)
		}
	}
	return filepath.Join(stateDir, serverFileName)
}

// WriteServerFile writes the file (0600) durably and in one step, with the folders (0700) that are missing.
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

// ReadServerFile reads the file. It says nothing about whether that server still runs: see FindServer.
// Errors wrap fs.ErrNotExist, ErrExposed or say what is wrong with the content, never what it is.
func ReadServerFile(path string) (ServerFile, error) {
	data, err := readPrivate(path, maxServerFile)
	if err != nil {
		return ServerFile{}, fmt.Errorf("server file: %w", err)
	}
	var content serverFileJSON
	if err := json.Unmarshal(data, &content); err != nil {
		return ServerFile{}, fmt.Errorf("server file %s: not the JSON that a server writes", path)
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
		return errors.New("its url is not an address of a server")
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

// RemoveServerFile removes the file if it is still the one that the process pid wrote. Another server's file, or none,
// is left alone and no error.
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

// FindServer reads the file and believes it only if the process that it names holds the lock of the database that it
// names, which holder finds out: a process id alone may belong to another program by now, and the token must not be
// sent to whatever listens on the port today. Errors are those of ReadServerFile, or wrap ErrStale.
func FindServer(path string, holder func(db string) (pid int, held bool)) (ServerFile, error) {
	f, err := ReadServerFile(path)
	if err != nil {
		return ServerFile{}, err
	}
	pid, held := holder(f.Database)
	switch {
	case !held:
		return ServerFile{}, fmt.Errorf("%w: %s names process %d, but nobody has the database %s open", ErrStale, path, f.PID, f.Database)
	case pid != f.PID:
		return ServerFile{}, fmt.Errorf("%w: %s names process %d, but process %d has the database %s open", ErrStale, path, f.PID, pid, f.Database)
	}
	return f, nil
}
