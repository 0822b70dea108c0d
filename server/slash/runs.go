package slash

import (
	"context"
	"sync"
)

// Runs are the running commands of a connection. The zero value has none. Safe for concurrent use.
type Runs struct {
	mu  sync.Mutex
	all map[*run]struct{}
}

type run struct {
	session string
	cancel  context.CancelFunc
}

// Add adds a command of a session until its request ends. stop ends when the command is cancelled; unlike the context of the
// request, it does not end with the request.
func (r *Runs) Add(request context.Context, session string) (stop context.Context, cancel context.CancelFunc) {
	stop, cancel = context.WithCancel(context.WithoutCancel(request))
	one := &run{session, cancel}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = make(map[*run]struct{})
	}
	r.all[one] = struct{}{}
	context.AfterFunc(request, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.all, one)
	})
	return stop, cancel
}

// Cancel cancels the commands of a session.
func (r *Runs) Cancel(session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for one := range r.all {
		if one.session == session {
			one.cancel()
		}
	}
}

// MaxOutputs is the maximum number of outputs kept for prompts that are sent again.
const MaxOutputs = 256

// Key identifies a prompt with a command.
type Key struct{ Session, PromptID string }

// Outputs are the running commands whose prompts have an id, and the outputs of the newest MaxOutputs successful ones. The
// zero value has none. Safe for concurrent use.
type Outputs struct {
	mu    sync.Mutex
	all   map[Key]*output
	order []Key // of those that have succeeded, the oldest first
}

type output struct {
	ended chan struct{}
	text  string
	err   error
}

// Begin returns the output of a command that has succeeded. It waits for a command that still runs. If known is false, the
// caller must run the command and then call end. The error is that of ctx.
func (o *Outputs) Begin(ctx context.Context, key Key) (text string, known bool, end func(text string, err error), err error) {
	if key.PromptID == "" {
		return "", false, func(string, error) {}, nil
	}
	for {
		one, mine := o.claim(key)
		if mine {
			return "", false, func(text string, err error) { o.end(key, one, text, err) }, nil
		}
		select {
		case <-one.ended:
			if one.err == nil {
				return one.text, true, nil, nil
			}
		case <-ctx.Done():
			return "", false, nil, ctx.Err()
		}
	}
}

// claim returns the output of a command, and whether it was created now.
func (o *Outputs) claim(key Key) (one *output, mine bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if one, known := o.all[key]; known {
		return one, false
	}
	if o.all == nil {
		o.all = make(map[Key]*output)
	}
	one = &output{ended: make(chan struct{})}
	o.all[key] = one
	return one, true
}

func (o *Outputs) end(key Key, one *output, text string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	one.text, one.err = text, err
	close(one.ended)
	if err != nil {
		delete(o.all, key)
		return
	}
	if len(o.order) == MaxOutputs {
		delete(o.all, o.order[0])
		o.order = o.order[1:]
	}
	o.order = append(o.order, key)
}
