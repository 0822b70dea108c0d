package historystore

import (
	"context"
	"database/sql"
	"fmt"

	"strata/history"
)

// Calibrations returns the stored calibrations, sorted by model.
func (s *Store) Calibrations(ctx context.Context) ([]history.Calibration, error) {
	var all []history.Calibration
	err := s.view(ctx, "calibrations", func(tx *sql.Tx) (err error) {
		all, err = collect(ctx, tx, func(row scanner) (c history.Calibration, err error) {
			err = row.Scan(&c.Model, &c.Ratio, &c.Weight)
			return c, err
		}, "SELECT model, ratio, weight FROM calibration ORDER BY model")
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read calibrations: %w", err)
	}
	return all, nil
}

func (p *prepared) calibration(tx *writeTx) error {
	c := p.Calibration
	if c == nil {
		return nil
	}
	_, err := tx.exec(`INSERT INTO calibration (model, ratio, weight) VALUES (?, ?, ?)
		ON CONFLICT DO UPDATE SET ratio = excluded.ratio, weight = excluded.weight`, c.Model, c.Ratio, c.Weight)
	return err
}
