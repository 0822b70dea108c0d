package slash

import (
	"context"
	"sync"
)

// Runs are the commands of a connection that are not answered. The zero value has none. Safe for concurrent use.
type Runs struct {
	mu  sync.Mutex
	all map[*run]struct{}
}

type run struct {
	session string
	cancel  context.CancelFunc
}

// Add adds a command of a session until its request ends. The context ends when the command is cancelled, and not with the request.
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

// MaxOutputs is the number of outputs that are kept for prompts that are sent again.
const MaxOutputs = 256

// Key is a prompt with a command.
type Key struct{ Session, PromptID string }

// Outputs are the outputs of the newest commands whose prompts have an id. The zero value has none. Safe for concurrent use.
type Outputs struct {
	mu    sync.Mutex
	texts map[Key]string
	order []Key // the oldest first
}

// Get returns the output of a command that has succeeded.
func (o *Outputs) Get(key Key) (text string, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	text, known = o.texts[key]
	return text, known
}

// Put keeps an output. A prompt without an id has none.
func (o *Outputs) Put(key Key, text string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, known := o.texts[key]; known || key.PromptID == "" {
		return
	}
	if o.texts == nil {
		o.texts = make(map[Key]string)
	}
	if len(o.order) == MaxOutputs {
		delete(o.texts, o.order[0])
		o.order = o.order[1:]
	}
	o.texts[key] = text
	o.order = append(o.order, key)
}
