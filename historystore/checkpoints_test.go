package historystore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"strata/history"
)

func TestCheckpointsAreStored(t *testing.T) {
	path := t.TempDir() + "/strata.db"
	s, err := Open(t.Context(), path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)
	record := history.Session{ID: "sess_1", CWD: "/w", CreatedAt: at, UpdatedAt: at}
	kept := history.Checkpoint{ID: "cp_1", Seq: 3, Name: "before", At: at}
	for _, ch := range []history.Change{
		{Session: record.ID, Create: &record},
		{Session: record.ID, PutCheckpoints: []history.Checkpoint{kept, {ID: "cp_2", Seq: 4, Name: "after", At: at}}},
		{Session: record.ID, DropCheckpoints: []string{"cp_2"}},
	} {
		if err := s.Commit(t.Context(), ch); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if s, err = Open(t.Context(), path, Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Load(t.Context(), record.ID)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]history.Checkpoint{kept}, l.Checkpoints); diff != "" {
		t.Error(diff)
	}
}
