package session

import (
	"context"
	"errors"
	"testing"

	"strata/history"
)

// createStore commits when the test lets it, with the given error.
type createStore struct {
	*lockedStore
	release chan error
}

func (s *createStore) Commit(ctx context.Context, ch history.Change) error {
	if err := <-s.release; err != nil {
		return err
	}
	return s.lockedStore.Commit(ctx, ch)
}

// watchedHost tells when a folder is looked at.
type watchedHost struct {
	bareHost
	looked chan string
}

func (h watchedHost) Allowed(_ context.Context, folder string) error {
	h.looked <- folder
	return nil
}

// creating returns a session that is being stored and has looked at its folder, and the channel of the response to a
// request that it got meanwhile.
func creating(t *testing.T, store *createStore) (*Session, chan error) {
	t.Helper()
	host := watchedHost{looked: make(chan string, 10)}
	s := Create(depsOf(store, newProvider(), host), history.Session{ID: "sess_new", CWD: t.TempDir()})
	replies := make(chan error, 1)
	s.Info(func(_ Info, err error) { replies <- err })
	<-host.looked
	return s, replies
}

func TestANewSessionLooksAtItsFolderWhileItIsStored(t *testing.T) {
	store := &createStore{newLockedStore(), make(chan error)}
	s, replies := creating(t, store)
	select {
	case err := <-replies:
		t.Fatalf("a request got a response (%v) before the session was stored", err)
	default:
	}
	close(store.release)
	if err := <-replies; err != nil {
		t.Errorf("after the session was stored a request got %v", err)
	}
	s.Close(ReasonClosed, func() {})
	<-s.Done()
}

func TestANewSessionThatCannotBeStoredEnds(t *testing.T) {
	store := &createStore{newLockedStore(), make(chan error, 100)}
	s, replies := creating(t, store)
	for range cap(store.release) { // it may try again
		store.release <- history.ErrUnchanged
	}
	if err := <-replies; !errors.Is(err, ErrStorage) {
		t.Errorf("a request got %v", err)
	}
	<-s.Done()
}

func TestAModeCanBeChosenWhileTheSessionIsStored(t *testing.T) {
	store := &createStore{newLockedStore(), make(chan error)}
	host := watchedHost{looked: make(chan string, 10)}
	s := Create(depsOf(store, newProvider(), host), history.Session{ID: "sess_new", CWD: t.TempDir()})
	replies := make(chan error, 1)
	s.SetMode("edits", nil, func(_ Configured, err error) { replies <- err })
	close(store.release)
	if err := <-replies; err != nil {
		t.Error(err)
	}
	s.Close(ReasonClosed, func() {})
	<-s.Done()
}
