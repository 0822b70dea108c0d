package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"strata/internal/lazy"
	"strata/llm/reply"
	"strata/llm/silence"
)

// ErrorKind says what went wrong, so that a caller can say what to do.
type ErrorKind string

// The kinds of errors.
const (
	KindAuth       ErrorKind = "auth"       // no key, a wrong one, or one that may not
	KindQuota      ErrorKind = "quota"      // the account has no money left
	KindRate       ErrorKind = "rate"       // too many requests
	KindOverloaded ErrorKind = "overloaded" // the provider has trouble of its own
	KindInvalid    ErrorKind = "invalid"    // the provider refuses the request
	KindContext    ErrorKind = "context"    // the request is longer than the model's context
	KindPicture    ErrorKind = "picture"    // the provider refuses a picture of the request
	KindNetwork    ErrorKind = "network"    // no connection, a broken one, or a silent one
	KindTruncated  ErrorKind = "truncated"  // the stream ended without its end, or is not what it should be
	KindCancelled  ErrorKind = "cancelled"  // the caller's context ended
	KindUnknown    ErrorKind = "unknown"    // no such provider is configured
)

// Error is the failure of a model call. Its text holds neither keys nor parts of the request.
type Error struct {
	Kind       ErrorKind
	Provider   string        // configured name
	Status     int           // HTTP status, or the one that an error inside the stream stands for; 0 where there is none
	RetryAfter time.Duration // what the provider asked for; 0 where it did not
	Partial    bool          // visible text had arrived
	Attempts   int           // that failed; 0 where the call was not tried
	Limit      int           // KindContext: the model's context in tokens; 0 where the provider did not say
	Counted    int           // KindContext: the request in the provider's tokens; 0 where the provider did not say
	param      string        // the parameter of the request that the provider names
	err        error
}

// Error says provider, kind, status and the provider's own words, shortened.
func (e *Error) Error() string {
	text := fmt.Sprintf("%s: %s", e.Provider, e.Kind)
	if e.Status != 0 {
		text += fmt.Sprintf(" (status %d)", e.Status)
	}
	if e.err != nil {
		text += ": " + e.err.Error()
	}
	return text
}

// Unwrap returns the cause, so that a cancelled call is a context.Canceled.
func (e *Error) Unwrap() error { return e.err }

// reason is the error without provider and kind, for a retry's report.
func (e *Error) reason() string {
	if e.err == nil {
		return string(e.Kind)
	}
	return e.err.Error()
}

// retryable reports whether another attempt may help. statuses are those that are tried again.
func (e *Error) retryable(statuses []int) bool {
	switch e.Kind {
	case KindNetwork, KindTruncated:
		return true
	case KindRate, KindOverloaded:
		return slices.Contains(statuses, e.Status)
	}
	return false
}

// tooManyBytes returns the error for a request that its provider would refuse for its size.
func tooManyBytes(size, most int) *Error {
	return &Error{Kind: KindInvalid, Status: http.StatusRequestEntityTooLarge, err: fmt.Errorf("request of %d bytes exceeds the limit of %d", size, most)}
}

// kindOf maps an HTTP status.
func kindOf(status int) ErrorKind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return KindAuth
	case http.StatusPaymentRequired:
		return KindQuota
	case http.StatusTooManyRequests:
		return KindRate
	}
	if slices.Contains(DefaultRetryStatuses, status) || status >= 500 && status != http.StatusNotImplemented {
		return KindOverloaded
	}
	return KindInvalid
}

// errorOf returns the error for what a provider says.
func errorOf(f *reply.Failure) *Error {
	kind := kindOf(f.Status)
	switch {
	case f.Unpaid:
		kind = KindQuota // some providers tell it with status 429, but waiting does not help
	case f.TooLong:
		kind = KindContext
	}
	return &Error{Kind: kind, Status: f.Status, Limit: f.Limit, Counted: f.Counted, param: f.Param, err: errors.New(cmp.Or(f.Message, string(kind)))}
}

// failure makes an *Error of whatever a try ended with. ctx is the caller's, key the one to be masked.
func failure(ctx context.Context, provider, key string, err error) *Error {
	var out *Error
	var said *reply.Failure
	switch {
	case ctx.Err() != nil:
		return &Error{Kind: KindCancelled, Provider: provider, err: ctx.Err()}
	case errors.As(err, &out):
	case errors.As(err, &said):
		out = errorOf(said)
	case errors.Is(err, reply.ErrNoEnd), errors.Is(err, reply.ErrUnreadable):
		out = &Error{Kind: KindTruncated, err: err}
	case errors.Is(err, reply.ErrTooLarge):
		out = &Error{Kind: KindInvalid, err: err}
	default:
		out = &Error{Kind: KindNetwork, err: err}
	}
	out.Provider = provider
	out.err = clean(out.err, key)
	if out.err.Error() == "" { // nothing printable
		out.err = errors.New(cmp.Or(http.StatusText(out.Status), string(out.Kind)))
	}
	return out
}

// maxMessage is the longest error text that is passed on, in runes.
const maxMessage = 500

var keyLike = lazy.Regexp(`(?i)\b(bearer\s+\S+|(sk|pk|rk|gsk|xai|aiza|key|token)[-_=:][-_.a-z0-9]{8,}|AIza[-_a-z0-9]{20,})`)

// clean keeps sentinels as they are and makes anything else short, printable and free of keys.
func clean(err error, key string) error {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err // the address may hold a password
	}
	if errors.Is(err, reply.ErrNoEnd) || errors.Is(err, silence.Err) || errors.Is(err, reply.ErrTooLarge) {
		return err
	}
	text := err.Error()
	if len(key) >= 6 {
		text = strings.ReplaceAll(text, key, "***")
	}
	text = keyLike().ReplaceAllString(text, "***")
	return errors.New(printable(text))
}

func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && !unicode.IsSpace(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > maxMessage {
		return string(runes[:maxMessage-1]) + "…"
	}
	return text
}
