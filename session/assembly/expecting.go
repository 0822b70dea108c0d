package assembly

import (
	"context"
	"slices"

	"strata/history"
)

// Expecting returns a store that also has a message that is about to be stored.
func Expecting(s Store, message *history.Message) Store { return expecting{s, message} }

type expecting struct {
	Store
	message *history.Message
}

// Messages reads all messages from the store but the expected one.
func (e expecting) Messages(ctx context.Context, session string, seqs []int64) ([]history.Message, error) {
	at := slices.Index(seqs, e.message.Seq)
	if at < 0 {
		return e.Store.Messages(ctx, session, seqs)
	}
	messages, err := e.Store.Messages(ctx, session, slices.Delete(slices.Clone(seqs), at, at+1))
	if err != nil {
		return nil, err
	}
	return slices.Insert(messages, at, *e.message), nil
}
