package tools

import "strata/history"

// NoResult is the reason why Strata gives a call its result instead of the tool.
type NoResult int

// The reasons. A lost call ran while the server ended. Lost: it is unknown whether the call took effect. LostMade, LostNotMade
// and LostCopied: the call changed a file, whose content says whether the change was made, or that a move made the new file only.
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
	Lost:        {history.CallLost, "the server ended while this call ran; it is unknown whether the call took effect"},
	LostMade:    {history.CallLost, "the server ended while this call ran; the file was changed as requested"},
	LostNotMade: {history.CallLost, "the server ended while this call ran; the file was not changed"},
	LostCopied:  {history.CallLost, "the server ended while this call ran; the file is at both paths"},
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
	p := Progress{Kind: KindOf(call.Name), Description: Description{Title: call.Name}, Result: &r}
	return history.Block{Type: history.BlockToolResult, CallID: call.CallID, IsError: true, Content: r.Content, Call: p.Shown()}
}
