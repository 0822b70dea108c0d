package tools

import (
	"context"

	"strata/filecontext/change"
	"strata/history"
)

// Step is the calls of one step, in the model's order, with their results. It belongs to the goroutine of its turn.
type Step struct {
	set   *Set
	limit limit // of one result
	place func(path string) string
	calls []stepCall

	stored int // the calls before it have results that are stored
	next   int // the first call on which nothing was decided
	until  int // the calls from next to it may run
}

type stepCall struct {
	block    *history.Block
	call     *Call     // nil for a call that is wrong
	prepared *Prepared // of a call that changes files, once that is known
	started  bool
	returned bool
	output   *Output // shown last; nil for none
	result   *Result
}

// limit is how much text a result may have.
type limit struct {
	tokens int
	count  func(text string) int
}

// bytesPerToken is how many bytes of most texts are a token.
const bytesPerToken = 4

// cut returns a result within the limit. Texts with short tokens are cut a second time.
func (l limit) cut(r Result) Result {
	for most := l.bytes(); ; {
		r = Cut(r, most)
		n := 0
		for i := range r.Content {
			n += l.count(r.Content[i].Text)
		}
		if n <= l.tokens || most < leastCut {
			return r
		}
		most = min(most*9/10, r.Size()*l.tokens/n)
	}
}

func (l limit) bytes() int { return min(MaxResult, l.tokens*bytesPerToken) }

// NewStep returns the step of a message with calls, whose results may have at most so many tokens of text together. place
// returns the absolute path of a file as clients are told of it, empty for none.
func (s *Set) NewStep(message []history.Block, tokens int, count func(text string) int, place func(path string) string) *Step {
	step := &Step{set: s, place: place}
	for i := range message {
		if message[i].Type == history.BlockToolCall {
			step.calls = append(step.calls, stepCall{block: &message[i]})
		}
	}
	step.limit = limit{tokens: tokens / max(len(step.calls), 1), count: count}
	return step
}

// Calls returns the number of calls.
func (s *Step) Calls() int { return len(s.calls) }

// Review decides on the next calls: the event is Allowed if they may run, which is so for calls that change nothing, Asks if
// the next one can change something, Prepares if it has to be prepared before that, Refused if it must not run, and Reviewed
// if there is none left. For Asks and Refused it returns the progress of the next call.
func (s *Step) Review() (Event, Progress) {
	if s.next == len(s.calls) {
		return Reviewed, Progress{}
	}
	c := &s.calls[s.next]
	if refusal := s.refusal(c); refusal != nil {
		return Refused, s.refuse(*refusal)
	}
	switch {
	case c.call.Tool.ReadOnly:
	case c.call.Tool.Prepare != nil:
		return Prepares, Progress{}
	default:
		return Asks, s.progress(c)
	}
	for s.until = s.next + 1; s.until < len(s.calls) && s.reads(&s.calls[s.until]); s.until++ {
	}
	return Allowed, Progress{}
}

// reads reports whether a call may run beside others: it is right, and changes nothing.
func (s *Step) reads(c *stepCall) bool { return s.refusal(c) == nil && c.call.Tool.ReadOnly }

// Prepare finds out what the next call would change, on a goroutine of spawn. The event is Asks or Refused, with the progress
// of the call. If ctx ends, it returns at once.
func (s *Step) Prepare(ctx context.Context, spawn func(func())) (Event, Progress) {
	c := &s.calls[s.next]
	prepared := make(chan *Prepared, 1)
	spawn(func() { prepared <- c.call.prepare(ctx, s.limit) })
	select {
	case c.prepared = <-prepared:
	case <-ctx.Done():
		return Asks, Progress{}
	}
	if c.prepared.Refusal != nil {
		return Refused, s.refuse(*c.prepared.Refusal)
	}
	return Asks, s.progress(c)
}

// prepare prepares the call. What fails is a refusal.
func (c *Call) prepare(ctx context.Context, limit limit) (prepared *Prepared) {
	defer func() {
		if failed := recover(); failed != nil {
			prepared = Refuse(Failed("%s failed: internal error", c.Tool.Name))
		}
	}()
	prepared, err := c.Prepare(ctx, limit.bytes())
	if err != nil {
		return Refuse(Failed("%s failed: %v", c.Tool.Name, err))
	}
	return prepared
}

// Asked returns the call on which Review asks, and its change if it is prepared, else nil.
func (s *Step) Asked() (*Call, *Change) {
	c := &s.calls[s.next]
	if c.prepared == nil {
		return c.call, nil
	}
	return c.call, &c.prepared.Change
}

// Allowed returns the call that Allow has let run, and its change if it is prepared; nil if the next calls only read.
func (s *Step) Allowed() (*Call, *Change) {
	if s.until != s.next+1 {
		return nil, nil
	}
	return s.Asked()
}

// Allow lets the call run on which Review asks. It runs alone.
func (s *Step) Allow() { s.until = s.next + 1 }

// Refuse gives the call on which Review asks a result that says why it does not run, and returns its progress.
func (s *Step) Refuse(why string) Progress { return s.refuse(Failed("%s", why)) }

func (s *Step) refuse(why Result) Progress {
	c := &s.calls[s.next]
	s.next++
	c.result = &why
	return s.progress(c)
}

// Changed reports whether the newest call that ran can have changed something: its result is to be stored before anything
// else happens.
func (s *Step) Changed() bool {
	c := &s.calls[s.next-1]
	return c.call != nil && !c.call.Tool.ReadOnly
}

// Made returns what became of the change of the newest call that ran, nil if that is not known, or if it was not prepared.
func (s *Step) Made() *Made {
	switch c := &s.calls[s.next-1]; {
	case c.prepared == nil || c.isUnknown():
		return nil
	case c.result == nil:
		return &Made{State: change.NotDone}
	default:
		return c.result.Made
	}
}

// isUnknown reports whether the call may have changed its file, or still may.
func (c *stepCall) isUnknown() bool { return c.prepared != nil && c.started && !c.returned }

// Shows returns the lines of files that the result of the newest call that ran shows, if it has changed files.
func (s *Step) Shows() (shown []history.FileLines) {
	c := &s.calls[s.next-1]
	if c.prepared == nil || c.result == nil {
		return nil
	}
	for i := range c.result.Content {
		shown = append(shown, c.result.Content[i].Shows...)
	}
	return shown
}

// refusal checks a call. It returns the result of one that must not run.
func (s *Step) refusal(c *stepCall) *Result {
	if c.call != nil {
		return nil // it was checked before
	}
	if c.block.Incomplete {
		r := Failed("%s was not run: its input is incomplete", c.block.Name)
		return &r
	}
	call, err := s.set.Check(c.block.Name, c.block.Args)
	if err != nil {
		r := Failed("%v", err)
		return &r
	}
	call.ID = c.block.CallID
	c.call = call
	return nil
}

// Settle gives every call without a result one that says why, and returns the progress of these calls.
func (s *Step) Settle(why NoResult) (settled []Progress) {
	for i := range s.calls {
		if c := &s.calls[i]; c.result == nil {
			r := why.Result()
			switch {
			case c.isUnknown():
				r.Content[0].Text += "; whether it changed the file is unknown"
			case c.prepared != nil:
				r.Made = &Made{State: change.NotDone}
			}
			c.result = &r
			settled = append(settled, s.progress(c))
		}
	}
	return settled
}

// Results returns the results that are not stored, as blocks, in the model's order: those of the calls before the first one
// without a result.
func (s *Step) Results() (blocks []history.Block) {
	for i := s.stored; i < len(s.calls) && s.calls[i].result != nil; i++ {
		blocks = append(blocks, s.resultBlock(&s.calls[i]))
	}
	return blocks
}

// Stored notes that so many further results are stored.
func (s *Step) Stored(results int) { s.stored += results }

func (s *Step) resultBlock(c *stepCall) history.Block {
	p := s.progress(c)
	return history.Block{
		Type: history.BlockToolResult, CallID: c.block.CallID, Content: c.result.Content, IsError: c.result.IsError, Call: p.Shown(),
	}
}
