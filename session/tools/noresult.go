package tools

import "strata/history"

// NoResult is why a call has no result of its tool.
type NoResult int

// The reasons. A call that has Lost its result ran in a server that ended; whether it took effect is unknown, unless it changed
// a file: then it was made, or not, or a move has made the new file only.
const (
	CutOff NoResult = iota
	BrokenOff
	NoTools
	Cancelled
	Interrupted
	Lost
	LostMade
	LostNotMade
	LostCopied
)

var noResults = [...]struct {
	outcome history.CallOutcome
	text    string
}{
	CutOff:      {history.CallNotRun, "not run: the reply was cut off"},
	BrokenOff:   {history.CallNotRun, "not run: the provider broke off"},
	NoTools:     {history.CallNotRun, "not run: there are no tools"},
	Cancelled:   {history.CallCancelled, "cancelled by the user"},
	Interrupted: {history.CallInterrupted, "interrupted: the session was closed"},
	Lost:        {history.CallLost, "the server ended while this ran; whether it took effect is unknown"},
	LostMade:    {history.CallLost, "the server ended while this ran; the file is as the call would make it"},
	LostNotMade: {history.CallLost, "the server ended while this ran; the file was not changed"},
	LostCopied:  {history.CallLost, "the server ended while this ran; the file is at both paths"},
}

// String returns the text of the result.
func (why NoResult) String() string { return noResults[why].text }

// Result returns the result that Strata gives the call instead.
func (why NoResult) Result() Result {
	r := Failed("%s", why)
	r.Outcome = noResults[why].outcome
	return r
}

// Block returns the result for a call of a stored message, whose tool is unknown.
func (why NoResult) Block(call *history.Block) history.Block {
	r := why.Result()
	p := Progress{Kind: KindOther, Description: Description{Title: call.Name}, Result: &r}
	return history.Block{Type: history.BlockToolResult, CallID: call.CallID, IsError: true, Content: r.Content, Call: p.Shown()}
}
