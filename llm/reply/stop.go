package reply

import "strings"

// ending is the meaning of a provider's stop or finish reason.
type ending int

const (
	endsTurn ending = iota
	endsAtLimit
	endsRefused
	endsForCalls
	endsFailed
)

// endings maps the reasons that providers give, in lower case. An unknown reason ends the turn: the reply is whole.
var endings = map[string]ending{
	"stop": endsTurn, "end_turn": endsTurn, "stop_sequence": endsTurn, "pause_turn": endsTurn,

	"length": endsAtLimit, "max_tokens": endsAtLimit, "model_length": endsAtLimit, "max_output_tokens": endsAtLimit,
	"model_context_window_exceeded": endsAtLimit, "max_completion_tokens": endsAtLimit, "context_length": endsAtLimit,

	"content_filter": endsRefused, "content_filtered": endsRefused, "refusal": endsRefused, "safety": endsRefused,
	"recitation": endsRefused, "prohibited_content": endsRefused, "blocklist": endsRefused, "spii": endsRefused,
	"sensitive": endsRefused, "image_safety": endsRefused, "guardrail_intervened": endsRefused,

	"tool_calls": endsForCalls, "tool_call": endsForCalls, "tool_use": endsForCalls, "function_call": endsForCalls,

	"error": endsFailed, "abort": endsFailed, "aborted": endsFailed, "cancelled": endsFailed, "canceled": endsFailed,
	"network_error": endsFailed, "timeout": endsFailed, "overloaded": endsFailed, "other": endsFailed,
	"insufficient_system_resource": endsFailed, "malformed_function_call": endsFailed, "malformed_response": endsFailed,
}

// stopped takes a stop reason. An empty one says nothing and replaces none that was seen before.
// The error says that the provider broke the reply off.
func (a *Answer) stopped(reason string) error {
	reason = strings.TrimSpace(reason)
	if reason == "" {
		return nil
	}
	a.cut = false
	switch endings[strings.ToLower(reason)] {
	case endsFailed:
		return Failure{kind: reason, Message: "the provider broke the reply off: " + reason}.inStream()
	case endsAtLimit:
		a.stop, a.cut = StopMaxTokens, true
	case endsRefused:
		a.stop = StopRefusal
	case endsForCalls:
		a.stop = StopToolUse
	default:
		a.stop = StopEndTurn
	}
	a.Finish()
	return nil
}
