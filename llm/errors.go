package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
	"unicode"
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
	Limit      int           // KindContext: the model's context in tokens; 0 where the provider did not say
	Counted    int           // KindContext: the request in the provider's tokens; 0 where the provider did not say
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

// retryable reports whether another try may help.
func (e *Error) retryable() bool {
	switch e.Kind {
	case KindRate, KindOverloaded, KindNetwork, KindTruncated:
		return true
	}
	return false
}

var (
	errNoEnd    = errors.New("the stream ended before the answer was complete")
	errSilent   = errors.New("the provider sent nothing for too long")
	errTooLarge = errors.New("the answer is larger than this client takes")
)

// kindOf maps an HTTP status. 504 is counted among the provider's own trouble.
func kindOf(status int) ErrorKind {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return KindAuth
	case http.StatusPaymentRequired:
		return KindQuota
	case http.StatusTooManyRequests:
		return KindRate
	case 500, 502, 503, 504, 529:
		return KindOverloaded
	}
	return KindInvalid
}

// statusOfType maps the error types and codes that stand inside streams, of both APIs.
func statusOfType(kind string) int {
	switch kind {
	case "overloaded_error", "overloaded", "insufficient_system_resource":
		return 529
	case "rate_limit_error", "rate_limit_exceeded", "requests", "tokens":
		return http.StatusTooManyRequests
	case "billing_error", "insufficient_quota":
		return http.StatusPaymentRequired
	case "authentication_error", "invalid_api_key":
		return http.StatusUnauthorized
	case "permission_error":
		return http.StatusForbidden
	case "not_found_error", "model_not_found":
		return http.StatusNotFound
	case "invalid_request_error", "context_length_exceeded":
		return http.StatusBadRequest
	case "timeout_error":
		return http.StatusGatewayTimeout
	}
	return http.StatusInternalServerError
}

// wireError is the error object of both APIs.
type wireError struct {
	Type    string          `json:"type"`
	Message string          `json:"message"`
	Code    json.RawMessage `json:"code"` // a string, a number (an HTTP status) or null
}

// status is the HTTP status that an error inside a stream stands for.
func (w *wireError) status() int {
	var number int
	if json.Unmarshal(w.Code, &number) == nil && number >= 400 && number < 600 {
		return number
	}
	var code string
	if json.Unmarshal(w.Code, &code) == nil && code != "" {
		if status := statusOfType(code); status != http.StatusInternalServerError {
			return status
		}
	}
	return statusOfType(w.Type)
}

// inStream makes an error of an error event.
func (w *wireError) inStream() *Error { return w.withStatus(w.status()) }

func (w *wireError) withStatus(status int) *Error {
	kind := kindOf(status)
	if strings.Trim(string(w.Code), `"`) == "insufficient_quota" || w.Type == "insufficient_quota" {
		kind = KindQuota // told with status 429, but waiting does not help
	}
	message := cmp.Or(w.Message, http.StatusText(status), string(kind)) // 529 has no text
	return &Error{Kind: kind, Status: status, err: errors.New(message)}
}

// maxErrorBody is how much of an error's body is read, in bytes.
const maxErrorBody = 64 << 10

// readFailure makes an error of an answer whose status is not 200, and closes its body.
func readFailure(res *http.Response, now time.Time) *Error {
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
	var in struct {
		Error json.RawMessage `json:"error"`
	}
	var wire wireError
	if json.Unmarshal(body, &in) == nil && json.Unmarshal(in.Error, &wire) != nil {
		json.Unmarshal(in.Error, &wire.Message) // Ollama's error is a string
	}
	err := wire.withStatus(res.StatusCode)
	err.RetryAfter = retryAfter(res.Header, now)
	return err
}

// notAStream makes an error of a 200 whose body is of another kind than an event stream.
func notAStream(res *http.Response) *Error {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	switch kind {
	case "text/html", "application/json":
		res.Body.Close()
		return &Error{Kind: KindInvalid, Status: res.StatusCode, err: fmt.Errorf("answered with %s instead of an event stream", kind)}
	}
	return nil
}

// failure makes an *Error of whatever a try ended with. ctx is the caller's, key the one to be masked.
func failure(ctx context.Context, provider, key string, err error) *Error {
	var out *Error
	switch {
	case ctx.Err() != nil:
		return &Error{Kind: KindCancelled, Provider: provider, err: ctx.Err()}
	case errors.As(err, &out):
	case errors.Is(err, errNoEnd):
		out = &Error{Kind: KindTruncated, err: err}
	case errors.Is(err, errTooLarge):
		out = &Error{Kind: KindInvalid, err: err}
	default:
		out = &Error{Kind: KindNetwork, err: err}
	}
	out.Provider = provider
	out.err = clean(out.err, key)
	return out
}

// maxMessage is the longest error text that is passed on, in runes.
const maxMessage = 500

var keyLike = regexp.MustCompile(`(?i)\b(bearer\s+\S+|(sk|pk|rk|gsk|xai|aiza|key|token)[-_=:][-_.a-z0-9]{8,}|AIza[-_a-z0-9]{20,})`)

// clean keeps sentinels as they are and makes anything else short, printable and free of keys.
func clean(err error, key string) error {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err // the address may hold a password
	}
	if errors.Is(err, errNoEnd) || errors.Is(err, errSilent) || errors.Is(err, errTooLarge) {
		return err
	}
	text := err.Error()
	if len(key) >= 6 {
		text = strings.ReplaceAll(text, key, "***")
	}
	text = keyLike.ReplaceAllString(text, "***")
	return errors.New(printable(text))
}

func printable(text string) string {
	var out strings.Builder
	n := 0
	for _, r := range strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ") {
		if unicode.IsControl(r) {
			continue
		}
		if n++; n > maxMessage-1 {
			out.WriteString("…")
			break
		}
		out.WriteRune(r)
	}
	return out.String()
}
