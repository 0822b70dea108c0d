package tools

import "strata/history"

// NoResult is why a call has no result of its tool.
type NoResult int

// The reasons. A call that has Lost its result ran in a server that ended; whether it took effect is unknown.
const (
	CutOff NoResult = iota
	BrokenOff
	NoTools
	Cancelled
	Interrupted
	Lost
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
}

// String returns the text of the result.
func (why NoResult) String() string { return noResults[why].text }

// Result returns the result that Strata gives the call instead.
func (why NoResult) Result() Result {
	r := Failed("%s", why)
	r.Outcome = noResults[why].outcome
	return r
}

// Results returns the results for the calls of a stored message, whose tools are unknown.
func (why NoResult) Results(message []history.Block) (results []history.Block) {
	for i := range message {
		if b := &message[i]; b.Type == history.BlockToolCall {
			r := why.Result()
			p := Progress{Kind: KindOther, Description: Description{Title: b.Name}, Result: &r}
			results = append(results, history.Block{
				Type: history.BlockToolResult, CallID: b.CallID, IsError: true, Content: r.Content, Call: p.Shown(),
			})
		}
	}
	return results
}
