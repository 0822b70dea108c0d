package reply

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"html"
	"io"
	"net/http"
	"strconv"
	"strings"

	"strata/internal/lazy"
)

// The errors of a reply beside what its provider says.
var (
	ErrNoEnd      = errors.New("the stream ended before the answer was complete")
	ErrUnreadable = errors.New("the stream holds an event that cannot be read")
	ErrTooLarge   = errors.New("the provider did not end its reply: it was truncated at 2 MiB")
)

// Failure is a provider's error as far as it can be read: its words, and what classifies it.
type Failure struct {
	Message string
	kind    string // type, code or status in words
	Param   string // the parameter that is wrong
	Status  int    // HTTP status, of the answer or in the error; 0 for none
	Limit   int    // the model's context in tokens; 0 where the error does not name it
	Counted int    // the request in the provider's tokens; 0 where the error does not name it
	TooLong bool   // the request is longer than the model's context
	Unpaid  bool   // the account has no money left, whatever the status
}

// Error returns the provider's words.
func (f *Failure) Error() string { return f.Message }

// maxFailureDepth bounds how deep an error may hide in other errors.
const maxFailureDepth = 5

// readWireFailure reads an error of any form: a string; a list of errors; an object with error, message, detail or
// msg. ok is false where raw says nothing that reads as an error.
func readWireFailure(raw json.RawMessage) (f Failure, ok bool) {
	return readFailureAt(raw, maxFailureDepth)
}

func readFailureAt(raw json.RawMessage, depth int) (f Failure, ok bool) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || depth == 0 {
		return f, false
	}
	switch raw[0] {
	case '"':
		if json.Unmarshal(raw, &f.Message) != nil {
			return f, false
		}
		if inner := strings.TrimSpace(f.Message); strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, "[") {
			if nested, ok := readFailureAt(json.RawMessage(inner), depth-1); ok { // gateways pass on an error as a string
				return nested, true
			}
		}
		return f, strings.TrimSpace(f.Message) != ""
	case '[':
		var elements []json.RawMessage
		if json.Unmarshal(raw, &elements) != nil {
			return f, false
		}
		for _, element := range elements {
			if f, ok := readFailureAt(element, depth-1); ok {
				return f, true
			}
		}
	case '{':
		return readFailureObject(Members(raw), depth)
	}
	return f, false
}

// readFailureObject reads the members of an error object, or of an object that holds one.
func readFailureObject(object map[string]json.RawMessage, depth int) (f Failure, ok bool) {
	for _, name := range []string{"error", "message", "detail", "msg", "errors", "error_message", "error_description", "Message"} {
		inner, found := readFailureAt(object[name], depth-1)
		if found {
			f, ok = inner, true
			break
		}
	}
	f.classify(object)
	if !ok && len(Members(object["error"])) > 0 { // an error without words
		f.classify(Members(object["error"]))
		ok = f.kind != "" || f.Status != 0
	}
	if base := Members(object["base_resp"]); !ok && string(base["status_code"]) != "0" { // MiniMax
		if inner, found := readFailureAt(base["status_msg"], depth-1); found {
			f.Message, ok = inner.Message, true
		}
	}
	if raw := Members(object["metadata"])["raw"]; len(raw) > 0 { // OpenRouter: the words of the provider behind it
		if inner, found := readFailureAt(raw, depth-1); found && inner.Message != f.Message {
			f.Message, ok = strings.TrimPrefix(f.Message+": "+inner.Message, ": "), true
			f.Limit, f.Counted = cmp.Or(f.Limit, inner.Limit), cmp.Or(f.Counted, inner.Counted)
		}
	}
	return f, ok
}

// classify takes the members of an error object that say what kind of error it is. What an inner object said stays.
func (f *Failure) classify(object map[string]json.RawMessage) {
	for _, name := range []string{"status_code", "http_status", "code", "status"} {
		var number count
		if raw := object[name]; len(raw) > 0 && f.Status == 0 && number.UnmarshalJSON(raw) == nil && number >= 400 && number < 600 {
			f.Status = int(number)
		}
	}
	for _, name := range []string{"code", "type", "status"} {
		var word label
		if raw := object[name]; len(raw) > 0 && raw[0] == '"' && word.UnmarshalJSON(raw) == nil {
			if _, err := strconv.Atoi(string(word)); err == nil || word == "error" {
				continue
			}
			if f.kind == "" || statusOfKind(f.kind) == 0 && statusOfKind(string(word)) != 0 {
				f.kind = string(word)
			}
		}
	}
	read := func(target *int, name string) {
		var number count
		if raw := object[name]; len(raw) > 0 && *target == 0 && number.UnmarshalJSON(raw) == nil {
			*target = int(number)
		}
	}
	read(&f.Limit, "n_ctx") // llama.cpp
	read(&f.Counted, "n_prompt_tokens")
	var param label
	if raw := object["param"]; len(raw) > 0 && f.Param == "" && param.UnmarshalJSON(raw) == nil {
		f.Param = string(param)
	}
}

// readFailureBody reads a whole body: JSON of any form, a page of HTML, or plain text.
func readFailureBody(body []byte) Failure {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\uFEFF")))
	for line := range bytes.Lines(body) { // an error that comes as an event stream
		data, isData := bytes.CutPrefix(bytes.TrimSpace(line), []byte("data:"))
		if data = bytes.TrimSpace(data); !isData || len(data) == 0 {
			continue
		}
		if f, ok := readWireFailure(data); ok {
			return f
		}
		if !json.Valid(data) {
			body = data
			break
		}
	}
	if json.Valid(body) {
		f, _ := readWireFailure(body)
		return f
	}
	if isHTML(body) {
		return Failure{Message: titleOf(body)}
	}
	if len(body) > 0 && (body[0] == '{' || body[0] == '[') {
		return Failure{} // JSON that was cut off
	}
	return Failure{Message: string(body)}
}

func isHTML(body []byte) bool {
	start := bytes.ToLower(body[:min(len(body), 64)])
	return bytes.HasPrefix(start, []byte("<!doctype")) || bytes.HasPrefix(start, []byte("<html")) || bytes.HasPrefix(start, []byte("<head"))
}

var pageTitle = lazy.Regexp(`(?is)<title[^>]*>(.*?)</title>`)

// titleOf returns a page's title: what a proxy says is in it.
func titleOf(page []byte) string {
	if m := pageTitle().FindSubmatch(page); m != nil {
		return strings.TrimSpace(html.UnescapeString(string(m[1])))
	}
	return ""
}

// statusOfKind maps the words by which providers classify errors to HTTP statuses; 0 for an unknown word.
func statusOfKind(kind string) int {
	switch strings.ToLower(kind) {
	case "overloaded_error", "overloaded", "insufficient_system_resource", "engine_overloaded_error":
		return 529
	case "rate_limit_error", "rate_limit_exceeded", "rate_limit", "requests", "tokens", "resource_exhausted", "throttlingexception", "too_many_requests":
		return http.StatusTooManyRequests
	case "billing_error", "insufficient_quota", "insufficient_balance", "quota_exceeded":
		return http.StatusPaymentRequired
	case "authentication_error", "invalid_api_key", "unauthenticated", "unauthorized", "invalid_authentication_error":
		return http.StatusUnauthorized
	case "permission_error", "permission_denied", "forbidden":
		return http.StatusForbidden
	case "not_found_error", "model_not_found", "not_found":
		return http.StatusNotFound
	case "invalid_request_error", "context_length_exceeded", "exceed_context_size_error", "invalid_argument", "badrequesterror",
		"bad_request", "validationexception", "unsupported_parameter", "unsupported_value", "invalid_image", "content_policy_violation":
		return http.StatusBadRequest
	case "request_too_large":
		return http.StatusRequestEntityTooLarge
	case "timeout_error", "timeout", "deadline_exceeded":
		return http.StatusGatewayTimeout
	case "unavailable", "service_unavailable":
		return http.StatusServiceUnavailable
	case "api_error", "server_error", "internal_server_error", "internal", "internalservererror":
		return http.StatusInternalServerError
	}
	return 0
}

// inStream returns f as the error that stands inside a stream or a body with status 200.
func (f Failure) inStream() error {
	return f.withStatus(cmp.Or(f.Status, statusOfKind(f.kind), http.StatusInternalServerError))
}

// withStatus returns f as the failure of an answer with an HTTP status.
func (f Failure) withStatus(status int) *Failure {
	f.Status = status
	f.Unpaid = statusOfKind(f.kind) == http.StatusPaymentRequired
	f.TooLong = !f.Unpaid && f.exceedsContext(status)
	if f.TooLong {
		f.readLimits()
	}
	f.Message = cmp.Or(strings.TrimSpace(f.Message), f.kind, http.StatusText(status)) // 529 has no text
	return &f
}

// maxErrorBody is how much of an error's body is read, in bytes.
const maxErrorBody = 64 << 10

// ReadFailure reads the body of a response whose status is not 200.
func ReadFailure(body io.Reader, status int) *Failure {
	text, _ := io.ReadAll(io.LimitReader(body, maxErrorBody)) // what arrived of it is what can be said
	return readFailureBody(text).withStatus(status)
}
