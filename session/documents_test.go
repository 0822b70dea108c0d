package session

import (
	"context"
	"testing"
	"time"

	"strata/history"
	"strata/session/documents"
)

// shelfStore notes the documents that are stored.
type shelfStore struct {
	*lockedStore
	put []history.Document
}

func (s *shelfStore) Commit(ctx context.Context, ch history.Change) error {
	s.mu.Lock()
	s.put = append(s.put, ch.PutDocuments...)
	s.mu.Unlock()
	return s.lockedStore.Commit(ctx, ch)
}

// A document is stored with the time at which it was set, by which later ones are told from earlier ones.
func TestADocumentHasTheTimeOfItsSetting(t *testing.T) {
	s := &shelfStore{lockedStore: newLockedStore()}
	deps := depsOf(s, newProvider(), describingHost{})
	at := time.Unix(1_000_000, 0)
	deps.Now = func() time.Time { return at }
	a := created(t, deps)
	if _, err := answerOf(func(reply func(documents.Info, error)) {
		a.SetDocument(documents.Request{Name: "design", Text: "lists"}, reply)
	}); err != nil {
		t.Fatal(err)
	}
	if len(s.put) != 1 || !s.put[0].At.Equal(at) || s.put[0].Name != "design" {
		t.Errorf("stored: %+v", s.put)
	}
}
