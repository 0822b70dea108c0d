package outlines

import (
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"strata/filecontext"
	"strata/filecontext/index"
	"strata/filecontext/outline"
)

// Options are the settings of Services. Store and CacheDir are required; a zero field otherwise means the default of
// package index.
type Options struct {
	Store      index.Store
	CacheDir   string             // folder for compiled parsers, writable only by this user
	Limits     filecontext.Limits // of the files of sessions
	Files      int                // maximum number of files in the index of a folder
	TotalBytes int64              // maximum size of the files of a folder that have outlines
	Skip       []string           // folders that are not indexed themselves, such as the user's home
	Log        *slog.Logger
}

// Services holds the indexes and the parsers that all sessions share. The parsers are loaded when they are needed.
type Services struct {
	indexes *index.Registry
	parser  parser
}

// parser is an outline.Parser.
type parser interface {
	index.Parser
	Close()
}

const (
	// parseTimeout limits parsing one file, which no prompt waits for.
	parseTimeout = 10 * time.Second
	// parserIdle is the time without use after which the parsers are released.
	parserIdle = 2 * time.Minute
	// throttle is the minimum interval of progress events.
	throttle = time.Second
)

// errSkipped refuses to index a folder of Options.Skip.
var errSkipped = errors.New("a home folder itself is not indexed; open a folder in it")

// NewServices returns services that do nothing before they are needed. Close ends them.
func NewServices(opt Options) *Services {
	var skipped []string
	for _, folder := range opt.Skip {
		if resolved, err := filepath.EvalSymlinks(folder); err == nil {
			skipped = append(skipped, resolved)
		}
	}
	refuse := func(folder string) error {
		if slices.Contains(skipped, folder) {
			return errSkipped
		}
		return nil
	}
	parser := outline.New(outline.Options{CacheDir: opt.CacheDir, Timeout: parseTimeout, Idle: parserIdle})
	indexes := index.NewRegistry(index.Options{
		Parser: parser, Store: opt.Store, Limits: opt.Limits, Log: opt.Log, Files: opt.Files, TotalBytes: opt.TotalBytes,
		Throttle: throttle, Refuse: refuse,
	})
	return &Services{indexes, parser}
}

// Close ends all indexes and releases the parsers. All sessions must have ended. Close on nil has no effect.
func (s *Services) Close() {
	if s != nil {
		s.indexes.Close()
		s.parser.Close()
	}
}
