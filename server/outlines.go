package server

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"strata/filecontext/index"
	"strata/filecontext/outline"
	"strata/historystore"
	"strata/session/outlines"
)

// Outlines are the settings of the workspaces' indexes. A zero field means its default.
type Outlines struct {
	Files      int      // maximum number of files in an index; default: 20,000
	TotalBytes int64    // maximum size of the files with outlines; default: 64 MiB
	Skip       []string // folders that are not indexed themselves, such as the user's home
}

const (
	// parseTimeout limits parsing a file for an index, which nobody waits for.
	parseTimeout = 10 * time.Second
	// parserIdle is the time without a parse after which the parsers are released.
	parserIdle = 2 * time.Minute
)

// indexes are the indexes of all workspaces and their parser.
type indexes struct {
	registry *index.Registry
	parser   *outline.Parser
	store    historystore.OutlineStore
	now      func() time.Time
	log      *slog.Logger
}

// newIndexes returns nil if outlines are turned off.
func newIndexes(store *historystore.Store, opt *Options) *indexes {
	if opt.Outlines == nil {
		return nil
	}
	x := &indexes{store: store.OutlineStore(), now: opt.Host.Now, log: opt.Log}
	x.parser = outline.New(outline.Options{
		CacheDir: filepath.Join(opt.StateDir, "parsers"), Timeout: parseTimeout, Idle: parserIdle,
	})
	var skipped []string
	for _, folder := range opt.Outlines.Skip {
		if resolved, err := filepath.EvalSymlinks(folder); err == nil {
			skipped = append(skipped, resolved)
		}
	}
	x.registry = index.NewRegistry(index.Options{
		Parser: x.parser, Store: x.store, Limits: opt.Sessions.Files, Log: opt.Log,
		Files: opt.Outlines.Files, TotalBytes: opt.Outlines.TotalBytes, Throttle: time.Second,
		Refuse: func(folder string) error {
			if slices.Contains(skipped, folder) {
				return errHome
			}
			return nil
		},
	})
	return x
}

// errHome refuses to index a folder of Outlines.Skip.
var errHome = errors.New("a home folder itself is not indexed; open a folder in it")

// services returns what sessions use; nil without indexes.
func (x *indexes) services() *outlines.Services {
	if x == nil {
		return nil
	}
	return &outlines.Services{Indexes: x.registry, Parser: x.parser}
}

// purge deletes the stored outlines that nobody has used for long, and those that exceed the limit of the store.
func (x *indexes) purge(ctx context.Context) {
	if x == nil {
		return
	}
	n, err := x.store.Purge(ctx, x.now().Add(-historystore.OutlineRetention), historystore.MaxOutlineBytes)
	switch {
	case err != nil && ctx.Err() == nil:
		x.log.Warn("unused outlines not purged", slog.Any("error", err))
	case n > 0:
		x.log.Info("unused outlines purged", slog.Int("outlines", n))
	}
}

// close ends everything. The sessions have ended.
func (x *indexes) close() {
	if x != nil {
		x.registry.Close()
		x.parser.Close()
	}
}
