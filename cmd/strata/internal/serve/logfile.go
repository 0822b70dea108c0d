package serve

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"strata/cmd/strata/internal/cli"
	"strata/cmd/strata/internal/config"
)

// maxLog is the largest log file, in bytes. With the previous file, a log takes at most twice as much.
const maxLog = 10 << 20

// newLog returns the configured log, and its closer.
func newLog(c *config.Config, stderr io.Writer, verbose bool) (*slog.Logger, io.Closer, error) {
	out, closer, terminal := stderr, io.Closer(io.NopCloser(nil)), cli.IsTerminal(stderr)
	if c.Log.File != "" {
		f, err := openLogFile(c.Log.File, maxLog)
		if err != nil {
			return nil, nil, fmt.Errorf("log.file: %w", err)
		}
		out, closer, terminal = f, f, false
	}
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.Log.Level)); err != nil {
		return nil, nil, fmt.Errorf("log.level: %w", err)
	}
	if verbose {
		level = slog.LevelDebug
	}
	opt := &slog.HandlerOptions{Level: level}
	if c.Log.Format == "text" || c.Log.Format == "auto" && terminal {
		return slog.New(slog.NewTextHandler(out, opt)), closer, nil
	}
	return slog.New(slog.NewJSONHandler(out, opt)), closer, nil
}

// logFile is a file of limited size: before it exceeds the limit, it is renamed to NAME.1 and a new file begins. It also
// receives the output of a crash. It is safe for concurrent use.
type logFile struct {
	path string
	max  int64

	mu   sync.Mutex
	file *os.File // nil if the new file could not be opened
	size int64
}

func openLogFile(path string, limit int64) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	l := &logFile{path: path, max: limit}
	return l, l.open()
}

func (l *logFile) open() error {
	f, err := os.OpenFile(l.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	l.file, l.size = f, info.Size()
	return debug.SetCrashOutput(f, debug.CrashOptions{})
}

// Write implements io.Writer.
func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil || l.size > 0 && l.size+int64(len(p)) > l.max {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += int64(n)
	return n, err
}

func (l *logFile) rotate() error {
	if l.file != nil {
		l.file.Close()
		l.file = nil
		if err := os.Rename(l.path, l.path+".1"); err != nil {
			return err
		}
	}
	return l.open()
}

// Close implements io.Closer.
func (l *logFile) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
