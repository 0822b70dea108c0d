package historystore

import (
	"context"
	"database/sql"

	"strata/historystore/outlines"
)

// OutlineStore returns the outlines of files and the file lists of workspace folders in s.
func (s *Store) OutlineStore() outlines.Store { return outlines.New(outlineDB{s}, s.opt.Now) }

// outlineDB implements outlines.DB.
type outlineDB struct{ store *Store }

func (d outlineDB) View(ctx context.Context, op string, fn func(outlines.Querier) error) error {
	return d.store.view(ctx, op, func(tx *sql.Tx) error { return fn(tx) })
}

func (d outlineDB) Write(ctx context.Context, op string, change func(outlines.Tx) error) error {
	return d.store.run(ctx, op, &job{kinds: []string{"outlines"}, patient: true, apply: func(tx *writeTx) error {
		return change(outlines.Tx{Exec: tx.exec})
	}})
}

func (d outlineDB) Purge(ctx context.Context, step func(outlines.Tx) (more bool, err error)) error {
	return d.store.repeat(ctx, func(tx *writeTx) (bool, error) { return step(outlines.Tx{Exec: tx.exec}) })
}

func (d outlineDB) Vacuum(ctx context.Context) error { return d.store.repeat(ctx, vacuum) }
