package reply

import (
	"encoding/json"
	"slices"
	"strings"

	"strata/history"
	"strata/internal/clip"
)

// maxBlocks bounds the blocks of one answer.
const maxBlocks = 10000

// MaxAnswer bounds all that is kept of one answer, in bytes: text, thinking, seals, and the names, ids, arguments and
// unknown members of calls. In JSON, where a byte takes up to six, such an answer still fits into a frame of 16 MiB; the
// longest answer of a model is below 1 MiB.
const MaxAnswer = 2 << 20

// Answer collects what a stream delivers, and tells it on.
type Answer struct {
	On       func(Event)   // receives each event
	Tools    bool          // the request declared tools
	NewID    func() string // makes ids of calls
	OnFinish func()        // called once, when the reply is complete; may be nil

	Shown bool // something visible was told
	Long  int  // part of the usage's CacheWrite that lives for an hour

	held     held
	blocks   []*block
	size     int // bytes so far
	usage    history.Usage
	reported bool
	stop     StopReason
	cut      bool // the output limit ended it
	finished bool // its stop reason was seen
}

// block is a block that still grows.
type block struct {
	history.Block
	text  strings.Builder // Text, or Args of a call
	join  joiner
	whole string // Args of a call that came in one piece with its start
}

// open begins a block. It fails when there are too many.
func (a *Answer) open(b history.Block) (*block, error) {
	if err := a.grow(len(b.CallID) + len(b.Name) + len(b.Data) + len(b.Signature)); err != nil || len(a.blocks) == maxBlocks {
		return nil, ErrTooLarge
	}
	out := &block{Block: b}
	a.blocks = append(a.blocks, out)
	return out, nil
}

// last returns the newest block if it is of kind, else opens one.
func (a *Answer) last(kind history.BlockType) (*block, error) {
	if n := len(a.blocks); n > 0 && a.blocks[n-1].Type == kind {
		return a.blocks[n-1], nil
	}
	if n := len(a.blocks); n > 0 {
		a.close(a.blocks[n-1])
	}
	return a.open(history.Block{Type: kind})
}

// openCall begins a tool call. The provider's id may be empty or used twice, so the call has an id of its own.
// name may be empty where it follows.
func (a *Answer) openCall(providerID, name string) (*block, error) {
	if err := a.grow(len(providerID)); err != nil {
		return nil, err
	}
	b, err := a.open(history.Block{Type: history.BlockToolCall, CallID: a.NewID()})
	if err != nil {
		return nil, err
	}
	b.Origin = &history.Origin{ID: providerID}
	return b, a.nameCall(b, name)
}

// identify gives a call the provider's id if it has none.
func (a *Answer) identify(b *block, providerID string) error {
	if b.Origin.ID != "" || providerID == "" {
		return nil
	}
	if err := a.grow(len(providerID)); err != nil {
		return err
	}
	b.Origin.ID = providerID
	return nil
}

// nameCall gives a call its name if it has none, and tells of the call with the arguments so far.
func (a *Answer) nameCall(b *block, name string) error {
	if b.Name != "" || name == "" {
		return nil
	}
	if err := a.grow(len(name)); err != nil {
		return err
	}
	b.Name = name
	a.tell(Event{Kind: EventToolCall, Call: &ToolCallDelta{ID: b.CallID, Name: name}})
	if args := b.text.String(); args != "" {
		a.tell(Event{Kind: EventToolCall, Call: &ToolCallDelta{ID: b.CallID, Name: name, Args: args}})
	}
	return nil
}

// keepExtra keeps members of a call that go back unchanged to its provider.
func (a *Answer) keepExtra(b *block, extra json.RawMessage) error {
	if len(extra) == 0 {
		return nil
	}
	if err := a.grow(len(extra)); err != nil {
		return err
	}
	b.Origin.Extra = merged(b.Origin.Extra, extra)
	return nil
}

func (a *Answer) hasCalls() bool {
	return slices.ContainsFunc(a.blocks, func(b *block) bool { return b.Type == history.BlockToolCall && b.says() })
}

// addProse appends text to the newest text block and thinking to the newest thinking block.
// field is the member of the wire format that thinking came in.
func (a *Answer) addProse(p prose, field string) error {
	for _, s := range p {
		if err := a.addSpan(s, field); err != nil {
			return err
		}
	}
	return nil
}

// addSpan is addProse for one span.
func (a *Answer) addSpan(s span, field string) error {
	kind := history.BlockText
	if s.thinking {
		kind = history.BlockThinking
	}
	b, err := a.last(kind)
	if err != nil {
		return err
	}
	if s.thinking && field != "" && b.Origin == nil {
		b.Origin = &history.Origin{Field: field}
	}
	return a.add(b, s.fragment)
}

// add appends f to b and tells it.
func (a *Answer) add(b *block, f fragment) error {
	return a.addText(b, b.join.add(f))
}

// addText appends text to b and tells it, both up to the bound: what is told is what is kept.
func (a *Answer) addText(b *block, text string) error {
	if text == "" {
		return nil
	}
	room := MaxAnswer - a.size
	err := a.grow(len(text))
	if err != nil {
		if text = clip.Bytes(text, room); text == "" {
			return err
		}
	}
	b.text.WriteString(text)
	switch b.Type {
	case history.BlockText:
		a.tellText(EventText, text)
	case history.BlockThinking:
		a.tellText(EventThinking, text)
	case history.BlockToolCall:
		if b.Name != "" {
			a.tell(Event{Kind: EventToolCall, Call: &ToolCallDelta{ID: b.CallID, Name: b.Name, Args: text}})
		}
	}
	return err
}

// Say appends text to the newest text block.
func (a *Answer) Say(text string) error { return a.append(history.BlockText, text) }

// Think appends text to the newest thinking block.
func (a *Answer) Think(text string) error { return a.append(history.BlockThinking, text) }

func (a *Answer) append(kind history.BlockType, text string) error {
	b, err := a.last(kind)
	if err != nil {
		return err
	}
	return a.addText(b, text)
}

// Call begins a tool call with the provider's id. more appends to its arguments.
func (a *Answer) Call(providerID, name string) (more func(args string) error, err error) {
	b, err := a.openCall(providerID, name)
	if err != nil {
		return nil, err
	}
	return func(args string) error { return a.addText(b, args) }, nil
}

// Report replaces the usage.
func (a *Answer) Report(u history.Usage) {
	a.usage = u
	a.tellUsage()
}

// sign appends to the provider's seal on a thinking block. A seal that does not fit is dropped whole, since a part of one
// is worth nothing.
func (a *Answer) sign(b *block, seal string) error {
	if err := a.grow(len(seal)); err != nil {
		b.Signature = ""
		return err
	}
	b.Signature += seal // one delta in practice
	return nil
}

// grow takes note of n more bytes that are to be kept. After an error nothing more is.
func (a *Answer) grow(n int) error {
	if a.size += n; a.size > MaxAnswer {
		return ErrTooLarge
	}
	return nil
}

// close tells what b still holds back. b may be closed more than once.
func (a *Answer) close(b *block) {
	if rest := b.join.rest(); rest != "" {
		a.addText(b, rest)
	}
	if strings.TrimSpace(b.text.String()) == "" && b.whole != "" {
		a.addText(b, b.whole)
	}
	b.whole = ""
}

func (a *Answer) tell(e Event) {
	a.tellHeld()
	a.Shown = true
	a.On(e)
}

func (a *Answer) tellUsage() {
	a.tellHeld()
	a.reported = true
	usage := a.usage
	a.On(Event{Kind: EventUsage, Usage: &usage})
}

// Started reports whether the provider has begun to reply: it reported usage, or something visible arrived.
func (a *Answer) Started() bool { return a.reported || a.Shown }

// Finish notes that the reply is complete, however the stream ends.
func (a *Answer) Finish() {
	if a.stop == "" {
		a.stop = StopEndTurn
	}
	if !a.finished && a.OnFinish != nil {
		a.OnFinish()
	}
	a.finished = true
}

// stopReason returns the stop reason of a complete reply. Calls count, not the name that the provider gave the reason;
// only a request that declared tools can end with a call.
func (a *Answer) stopReason() StopReason {
	switch {
	case a.stop != StopEndTurn && a.stop != StopToolUse:
		return a.stop
	case a.Tools && a.hasCalls():
		return StopToolUse
	}
	return StopEndTurn
}

// Result is the answer so far, without model and cost. whole says that the stream came to its end.
func (a *Answer) Result(whole bool) Result {
	res := Result{Usage: a.usage, UsageReported: a.reported}
	if whole {
		res.StopReason = a.stopReason()
	}
	for i, b := range a.blocks {
		a.close(b)
		last := i == len(a.blocks)-1
		if b.says() {
			res.Blocks = append(res.Blocks, b.finished(last && (a.cut || !whole)))
		}
	}
	return res
}

// says reports whether b says anything: text, a seal, or the name of a tool.
func (b *block) says() bool {
	if b.Type == history.BlockToolCall {
		return b.Name != ""
	}
	return b.text.Len() > 0 || b.Signature != "" || len(b.Data) > 0
}

// finished is b as it goes into the history. cut says that more of it would have followed.
func (b *block) finished(cut bool) history.Block {
	out := b.Block
	if out.Type != history.BlockToolCall {
		out.Text = b.text.String()
		return out
	}
	out.Args = b.text.String()
	if saysNothing(out.Args) && !cut {
		out.Args = "{}"
	}
	// Some routers say "tool_calls" although the limit cut the arguments.
	out.Incomplete = cut || !isObject(out.Args)
	return out
}

// saysNothing reports whether the arguments of a call stand for none: some models write null.
func saysNothing(args string) bool {
	args = strings.TrimSpace(args)
	return args == "" || args == "null"
}

// isObject reports whether the arguments of a call are a JSON object.
func isObject(args string) bool {
	return strings.HasPrefix(strings.TrimLeft(args, " \t\r\n"), "{") && json.Valid([]byte(args))
}
