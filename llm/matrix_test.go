package llm

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"strata/history"
	"strata/llm/reply"
)

// variant is a response of some server, and the expected result of the client.
type variant struct {
	name string

	status int      // 0 means 200
	typ    string   // Content-Type; empty for text/event-stream, noType for none
	body   string   // written with LF line ends
	broken bool     // the connection breaks after the body
	later  *variant // sent from the second request on; nil for the same response again
	tools  bool     // the request declares tools

	text, thinking string           // the reply, if blocks is nil: a thinking block before a text block, each only if not empty
	blocks         []history.Block  // the reply
	stop           reply.StopReason // empty for StopEndTurn, or for no reason if the call fails
	usage          *history.Usage   // nil if the provider reports none
	fails          *expectedError
	tries          int // requests of a call that succeeds; 0 stands for 1
}

const noType = "none"

// expectedError contains the expected properties of an *Error.
type expectedError struct {
	kind           ErrorKind
	status         int
	says           string // part of its text
	partial        bool
	limit, counted int
	tries          int
}

const (
	anyStatus = -1
	// kindBroken means KindOverloaded, or KindTruncated with a status of 500 or more.
	kindBroken ErrorKind = "overloaded or truncated"
)

// failsOnce is an error for which a retry is useless.
func failsOnce(kind ErrorKind, status int, says string) *expectedError {
	return &expectedError{kind: kind, status: status, says: says, tries: 1}
}

// failsAlways is an error that is retried until the last attempt.
func failsAlways(kind ErrorKind, status int, says string) *expectedError {
	return &expectedError{kind: kind, status: status, says: says, tries: maxTries}
}

// failsLate is an error after part of the reply was shown, so it is not retried.
func failsLate(kind ErrorKind, status int, says string) *expectedError {
	return &expectedError{kind: kind, status: status, says: says, partial: true, tries: 1}
}

// tooLong is a context-length error that names the limit and the length of the request in tokens, or 0.
func tooLong(status, limit, counted int, says string) *expectedError {
	return &expectedError{kind: KindContext, status: status, says: says, limit: limit, counted: counted, tries: 1}
}

func usedTokens(input, output, read, write int) *history.Usage {
	return &history.Usage{Input: input, Output: output, CacheRead: read, CacheWrite: write}
}

// wantCall is a call with the provider's id and, if given, the members of Origin.Extra.
func wantCall(id, name, args string, extra ...string) history.Block {
	b := history.Block{Type: history.BlockToolCall, Name: name, Args: args, Origin: &history.Origin{ID: id}}
	if len(extra) > 0 {
		b.Origin.Extra = json.RawMessage(extra[0])
	}
	return b
}

func wantCut(id, name, args string) history.Block {
	b := wantCall(id, name, args)
	b.Incomplete = true
	return b
}

func wantThought(text, seal string) history.Block {
	return history.Block{Type: history.BlockThinking, Text: text, Signature: seal}
}

// asData is a stream with one event for each line.
func asData(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		out.WriteString("data: " + line + "\n\n")
	}
	return out.String()
}

// asEvents is asData with an event field for each line that begins with its type.
func asEvents(lines ...string) string {
	var out strings.Builder
	for _, line := range lines {
		if rest, ok := strings.CutPrefix(line, `{"type":"`); ok {
			name, _, _ := strings.Cut(rest, `"`)
			out.WriteString("event: " + name + "\n")
		}
		out.WriteString("data: " + line + "\n\n")
	}
	return out.String()
}

// argsByteByByte returns an event for each character of a call's arguments, made of the JSON string with it.
func argsByteByByte(args string, event func(arg string) string) (events []string) {
	for _, r := range args {
		quoted, _ := json.Marshal(string(r))
		events = append(events, event(string(quoted)))
	}
	return events
}

// matrixRequest is the request to which each variant responds.
func matrixRequest(kind Kind, tools bool) Request {
	req := Request{Model: "anthropic/claude-sonnet-4-5-20250929", Entries: []Entry{user("hi")}}
	if kind == OpenAI {
		req.Model = "openai/gpt-4o"
	}
	if tools {
		req.Tools = []Tool{{Name: "list"}, {Name: "read"}}
	}
	return req
}

func matrixClient(t testing.TB, base string, transport http.RoundTripper) *Client {
	t.Helper()
	c, err := New(Options{
		Providers: map[string]ProviderConfig{
			"anthropic": {Kind: Anthropic, BaseURL: base},
			"openai":    {Kind: OpenAI, BaseURL: base},
		},
		Transport: transport,
		Sleep:     noSleep,
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (v *variant) header() (status int, header http.Header) {
	header = http.Header{"Content-Type": {v.typ}}
	switch v.typ {
	case "":
		header.Set("Content-Type", "text/event-stream")
	case noType:
		header["Content-Type"] = nil // so that the server does not detect one
	}
	if v.status == 0 {
		return http.StatusOK, header
	}
	return v.status, header
}

// response returns the response to the n-th request, from 1.
func (v *variant) response(n int) *variant {
	if n > 1 && v.later != nil {
		return v.later
	}
	return v
}

// onLoopback serves v from a server; cut splits the body into parts.
func (v *variant) onLoopback(t *testing.T, kind Kind, cut func(string) []string) {
	t.Helper()
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		v := v.response(int(requests.Add(1)))
		status, header := v.header()
		for name, value := range header {
			w.Header()[name] = value
		}
		w.WriteHeader(status)
		for _, part := range cut(v.body) {
			io.WriteString(w, part)
			http.NewResponseController(w).Flush()
		}
		if v.broken {
			panic(http.ErrAbortHandler)
		}
	}))
	defer server.Close()
	c := matrixClient(t, server.URL, nil)
	defer c.Close()
	v.check(t, kind, c, func() int { return int(requests.Load()) })
}

// inMemory serves v without a connection, so that each read of the body returns exactly one part.
func (v *variant) inMemory(t *testing.T, kind Kind, change func(string) string, cut func(string) []string) {
	t.Helper()
	var requests atomic.Int32
	c := matrixClient(t, "http://provider.invalid", roundTrip(func(*http.Request) *http.Response {
		v := v.response(int(requests.Add(1)))
		status, header := v.header()
		written := v.body
		if status == http.StatusOK { // the body of an error is not a stream
			written = change(written)
		}
		body := &partReader{parts: cut(written), end: io.EOF}
		if v.broken {
			body.end = io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: status, Header: header, Body: body, ContentLength: -1, ProtoMajor: 1, ProtoMinor: 1}
	}))
	v.check(t, kind, c, func() int { return int(requests.Load()) })
}

// roundTrip is a transport without a network.
type roundTrip func(*http.Request) *http.Response

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		io.Copy(io.Discard, req.Body)
		req.Body.Close()
	}
	res := f(req)
	res.Request = req
	return res, nil
}

// partReader returns one part for each read with enough room, and then end.
type partReader struct {
	parts []string
	end   error
}

func (r *partReader) Read(p []byte) (int, error) {
	for len(r.parts) > 0 && r.parts[0] == "" {
		r.parts = r.parts[1:]
	}
	if len(r.parts) == 0 {
		return 0, r.end
	}
	n := copy(p, r.parts[0])
	r.parts[0] = r.parts[0][n:]
	return n, nil
}

func (r *partReader) Close() error { return nil }

// check streams once through c and compares the result with v.
func (v *variant) check(t *testing.T, kind Kind, c *Client, requests func() int) {
	t.Helper()
	var rec recorder
	res, err := c.Stream(t.Context(), matrixRequest(kind, v.tools), rec.on)
	if fault := disagreement(res, err, rec.events); fault != "" {
		t.Error(fault)
	}
	if diff := cmp.Diff(v.expectedBlocks(), withoutIDs(res.Blocks), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("blocks: %s", diff)
	}
	if v.usage == nil && (res.UsageReported || res.Usage != (history.Usage{})) {
		t.Errorf("usage %+v, reported %t; the provider reported none", res.Usage, res.UsageReported)
	}
	if v.usage != nil && (!res.UsageReported || res.Usage != *v.usage) {
		t.Errorf("usage %+v, reported %t, want %+v", res.Usage, res.UsageReported, *v.usage)
	}
	tries := max(1, v.tries)
	if v.fails == nil {
		if err != nil {
			t.Errorf("error: %v", err)
		}
		if want := v.expectedStop(); res.StopReason != want {
			t.Errorf("stop reason %q, want %q", res.StopReason, want)
		}
	} else {
		v.fails.check(t, res, err)
		tries = v.fails.tries
	}
	if n := requests(); n != tries {
		t.Errorf("%d requests, want %d", n, tries)
	}
	if t.Failed() && len(v.body) < len(largeText) {
		t.Logf("sent:\n%s", v.body)
	}
}

func (v *variant) expectedStop() reply.StopReason {
	if v.stop == "" {
		return reply.StopEndTurn
	}
	return v.stop
}

func (v *variant) expectedBlocks() []comparableBlock {
	blocks := v.blocks
	if blocks == nil && v.thinking != "" {
		blocks = append(blocks, wantThought(v.thinking, ""))
	}
	if v.blocks == nil && v.text != "" {
		blocks = append(blocks, text(v.text))
	}
	return withoutIDs(blocks)
}

func (want *expectedError) check(t *testing.T, res reply.Result, err error) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	got := failureOf(t, err)
	if want.kind == kindBroken {
		if got.Kind != KindOverloaded && got.Kind != KindTruncated || got.Status < 500 {
			t.Errorf("kind %s, status %d, want %s and 500 or more", got.Kind, got.Status, want.kind)
		}
	} else if got.Kind != want.kind || want.status != anyStatus && got.Status != want.status {
		t.Errorf("kind %s, status %d, want %s and %d", got.Kind, got.Status, want.kind, want.status)
	}
	if !strings.Contains(got.Error(), want.says) {
		t.Errorf("error %q lacks %q", got, want.says)
	}
	for _, tag := range []string{"<html", "<body", "<!doctype", secretWords} {
		if strings.Contains(strings.ToLower(got.Error()), tag) {
			t.Errorf("error %q quotes a page", got)
		}
	}
	if got.Partial != want.partial {
		t.Errorf("partial %t, want %t", got.Partial, want.partial)
	}
	if got.Limit != want.limit || got.Counted != want.counted {
		t.Errorf("limit %d, counted %d, want %d and %d", got.Limit, got.Counted, want.limit, want.counted)
	}
	if res.StopReason != "" {
		t.Errorf("stop reason %q with an error", res.StopReason)
	}
}

// comparableBlock returns a block without the id that Strata gives to a call.
type comparableBlock struct {
	Type                        history.BlockType
	Text, Signature, Data       string
	Name, Args, OriginID, Extra string
	Incomplete                  bool
}

func withoutIDs(blocks []history.Block) (out []comparableBlock) {
	for _, b := range blocks {
		c := comparableBlock{Type: b.Type, Text: b.Text, Signature: b.Signature, Data: string(b.Data),
			Name: b.Name, Args: b.Args, Incomplete: b.Incomplete}
		if b.Type == history.BlockToolCall && b.Origin != nil {
			c.OriginID, c.Extra = b.Origin.ID, sortedJSON(b.Origin.Extra)
		}
		out = append(out, c)
	}
	return out
}

// sortedJSON sorts the members of objects.
func sortedJSON(raw json.RawMessage) string {
	var value any
	if len(raw) == 0 {
		return ""
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return fmt.Sprintf("no JSON: %s", raw)
	}
	out, _ := json.Marshal(value)
	return string(out)
}

// disagreement describes a contradiction in a result, whatever the provider sent; empty if there is none.
func disagreement(res reply.Result, err error, events []reply.Event) string {
	if err == nil && !slices.Contains([]reply.StopReason{reply.StopEndTurn, reply.StopMaxTokens, reply.StopRefusal, reply.StopToolUse}, res.StopReason) {
		return fmt.Sprintf("stop reason %q of an answer without an error", res.StopReason)
	}
	if err != nil {
		if fault := badError(err); fault != "" {
			return fault
		}
	}
	told := map[reply.EventKind]string{}
	args := map[string]string{}
	for _, e := range events {
		told[e.Kind] += e.Text
		if (e.Kind == reply.EventText || e.Kind == reply.EventThinking) && (e.Text == "" || !utf8.ValidString(e.Text)) {
			return fmt.Sprintf("event with the text %q", e.Text)
		}
		if e.Kind == reply.EventToolCall {
			if _, ok := args[e.Call.ID]; !ok && e.Call.Args != "" {
				return fmt.Sprintf("the first event of a call has the arguments %q", e.Call.Args)
			}
			args[e.Call.ID] += e.Call.Args
		}
	}
	kept := map[reply.EventKind]string{}
	for _, b := range res.Blocks {
		if !utf8.ValidString(b.Text + b.Signature + b.Name + b.Args) {
			return fmt.Sprintf("invalid UTF-8 in %+v", b)
		}
		switch b.Type {
		case history.BlockText:
			kept[reply.EventText] += b.Text
		case history.BlockThinking:
			kept[reply.EventThinking] += b.Text
		case history.BlockToolCall:
			if fault := badCall(b, args); fault != "" {
				return fault
			}
			delete(args, b.CallID)
		default:
			return fmt.Sprintf("block of type %q", b.Type)
		}
	}
	if kept[reply.EventText] != told[reply.EventText] || kept[reply.EventThinking] != told[reply.EventThinking] || len(args) > 0 {
		return fmt.Sprintf("events %v and %v, result %v", told, args, kept)
	}
	return ""
}

// badCall compares a call with the arguments in its events, by id.
func badCall(b history.Block, args map[string]string) string {
	told, ok := args[b.CallID]
	switch {
	case !strings.HasPrefix(b.CallID, "tc_"):
		return fmt.Sprintf("call with the id %q", b.CallID)
	case !ok:
		return fmt.Sprintf("no event of call %q, or two calls with this id", b.CallID)
	case told != b.Args && !(b.Args == "{}" && slices.Contains([]string{"", "null"}, strings.TrimSpace(told))):
		return fmt.Sprintf("events told the arguments %q, the result has %q", told, b.Args)
	case b.Name == "":
		return "call without a name"
	case !b.Incomplete && json.Unmarshal([]byte(b.Args), new(map[string]json.RawMessage)) != nil:
		return fmt.Sprintf("complete call with the arguments %q", b.Args)
	}
	if b.Origin == nil || len(b.Origin.Extra) == 0 {
		return ""
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b.Origin.Extra, &members); err != nil || !utf8.Valid(b.Origin.Extra) {
		return fmt.Sprintf("unknown members %q", b.Origin.Extra)
	}
	return ""
}

func badError(err error) string {
	var out *Error
	switch {
	case !errors.As(err, &out):
		return fmt.Sprintf("error %v is no *Error", err)
	case out.err == nil || strings.TrimSpace(out.err.Error()) == "":
		return fmt.Sprintf("error %q says nothing", err)
	case !utf8.ValidString(err.Error()) || utf8.RuneCountInString(err.Error()) > maxMessage+100:
		return fmt.Sprintf("error %q is invalid or too long", err)
	}
	return ""
}

// Ways to split a body into parts.

func inOnePart(body string) []string { return []string{body} }

func everyBytes(n int) func(string) []string {
	return func(body string) (out []string) {
		for part := range slices.Chunk([]byte(body), n) {
			out = append(out, string(part))
		}
		return out
	}
}

// cutBehind splits after each byte for which is returns true.
func cutBehind(is func(byte) bool) func(string) []string {
	return func(body string) (out []string) {
		start := 0
		for i := range len(body) {
			if is(body[i]) {
				out = append(out, body[start:i+1])
				start = i + 1
			}
		}
		return append(out, body[start:])
	}
}

var partings = []struct {
	name string
	cut  func(string) []string
}{
	{"whole", inOnePart},
	{"bytes", everyBytes(1)},
	{"three bytes", everyBytes(3)},
	{"mid-character", cutBehind(func(b byte) bool { return b >= utf8.RuneSelf })},
	{"mid-escape", cutBehind(func(b byte) bool { return b == '\\' || b == 'u' })},
	{"mid-line end", cutBehind(func(b byte) bool { return b == '\r' || b == '\n' })},
}

// Ways to write the same stream.

func asItIs(body string) string { return body }

func withCRLF(body string) string {
	if strings.Contains(body, "\r") {
		return body
	}
	return strings.ReplaceAll(body, "\n", "\r\n")
}

// withMixedEnds ends each second line with CRLF.
func withMixedEnds(body string) string {
	if strings.Contains(body, "\r") {
		return body
	}
	lines := strings.SplitAfter(body, "\n")
	for i := 0; i < len(lines); i += 2 {
		lines[i] = strings.Replace(lines[i], "\n", "\r\n", 1)
	}
	return strings.Join(lines, "")
}

// isEventStream reports whether body consists of events, between which other lines can be inserted.
func isEventStream(body string) bool {
	return strings.HasPrefix(body, "data:") || strings.HasPrefix(body, "event:") || strings.HasPrefix(body, ":")
}

// writtenBetween inserts something before the stream and between its events.
func writtenBetween(something string) func(string) string {
	return func(body string) string {
		if !isEventStream(body) {
			return body
		}
		return something + strings.ReplaceAll(body, "\n\n", "\n\n"+something)
	}
}

// withUnknownMember adds a member to each object of an event stream, so that none is a piece of text and nothing else: all
// are decoded in full.
func withUnknownMember(body string) string {
	if !isEventStream(body) {
		return body
	}
	return strings.ReplaceAll(strings.ReplaceAll(body, `data: {"`, `data: {"unheard_of":[],"`), `data:{"`, `data:{"unheard_of":[],"`)
}

var writings = []struct {
	name   string
	change func(string) string
}{
	{"LF", asItIs},
	{"unknown members", withUnknownMember},
	{"CRLF", withCRLF},
	{"mixed line ends", withMixedEnds},
	{"comments", writtenBetween(": ping\n\n")},
	{"empty data", writtenBetween("data:\n\n")},
	{"names without data", writtenBetween("event: ping\n\n")},
	{"ping events", writtenBetween("event: ping\ndata: {\"type\": \"ping\"}\n\n")},
	{"ids", writtenBetween("id: 7\nretry: 1000\n\n")},
}

// checkMatrix checks all variants of a kind: on loopback whole and byte by byte, then in memory, written and split in
// all ways.
func checkMatrix(t *testing.T, kind Kind, variants []variant) {
	for i := range variants {
		v := &variants[i]
		t.Run(v.name, func(t *testing.T) { v.onLoopback(t, kind, inOnePart) })
	}
}

func checkMatrixByteByByte(t *testing.T, kind Kind, variants []variant) {
	for i := range variants {
		v := &variants[i]
		if len(v.body) < 1000 && v.fails == nil {
			t.Run(v.name, func(t *testing.T) { v.onLoopback(t, kind, everyBytes(1)) })
		}
	}
}

// allWritings makes TestStreamsInAllWritings split each writing of each variant in all ways instead of one (with the
// race detector: in one way, for every less-th variant).
var allWritings = flag.Bool("writings", false, "combine all ways to write a stream with all ways to cut it")

func checkMatrixInAllWritings(t *testing.T, kind Kind, variants []variant) {
	for n, w := range writings {
		for m, p := range partings {
			t.Run(w.name+", "+p.name, func(t *testing.T) {
				for i := range variants {
					if v := &variants[i]; *allWritings || (i+n)%(len(partings)*less) == m {
						t.Run(v.name, func(t *testing.T) { v.inMemory(t, kind, w.change, p.cut) })
					}
				}
			})
		}
	}
}

// checkMatrixIsLarge checks that there are n variants with distinct names and responses.
func checkMatrixIsLarge(t *testing.T, variants []variant, n int) {
	names, responses := map[string]bool{}, map[string]string{}
	for _, v := range variants {
		if names[v.name] {
			t.Errorf("two variants %q", v.name)
		}
		names[v.name] = true
		response := fmt.Sprint(v.status, v.typ, v.broken, v.tools, v.later != nil, "\n", v.body)
		if other := responses[response]; other != "" {
			t.Errorf("%q sends the same as %q", v.name, other)
		}
		responses[response] = v.name
	}
	if len(variants) < n {
		t.Errorf("%d variants, want %d", len(variants), n)
	}
}

// brokenReasons are stop reasons for a failure of the provider, in every wire format.
var brokenReasons = []string{"abort", "aborted", "network_error", "error", "insufficient_system_resource", "MALFORMED_FUNCTION_CALL",
	"malformed_response", "OTHER", "cancelled", "timeout", "overloaded"}

// wholeReasons are the other stop reasons with their meaning, for a request without tools.
var wholeReasons = map[string]reply.StopReason{
	"stop": reply.StopEndTurn, "end_turn": reply.StopEndTurn, "stop_sequence": reply.StopEndTurn, "eos": reply.StopEndTurn, "eos_token": reply.StopEndTurn,
	"end": reply.StopEndTurn, "complete": reply.StopEndTurn, "completed": reply.StopEndTurn, "STOP": reply.StopEndTurn, "pause_turn": reply.StopEndTurn,
	"never heard of": reply.StopEndTurn, "tool_calls": reply.StopEndTurn, "function_call": reply.StopEndTurn, "tool_use": reply.StopEndTurn, "tool_call": reply.StopEndTurn,
	"length": reply.StopMaxTokens, "max_tokens": reply.StopMaxTokens, "MAX_TOKENS": reply.StopMaxTokens, "model_length": reply.StopMaxTokens,
	"model_context_window_exceeded": reply.StopMaxTokens, "max_output_tokens": reply.StopMaxTokens, "Length": reply.StopMaxTokens,
	"content_filter": reply.StopRefusal, "refusal": reply.StopRefusal, "SAFETY": reply.StopRefusal, "RECITATION": reply.StopRefusal,
	"PROHIBITED_CONTENT": reply.StopRefusal, "BLOCKLIST": reply.StopRefusal, "SPII": reply.StopRefusal, "sensitive": reply.StopRefusal, "safety": reply.StopRefusal,
	"content_filtered": reply.StopRefusal, "guardrail_intervened": reply.StopRefusal, "IMAGE_SAFETY": reply.StopRefusal, "image_safety": reply.StopRefusal,
}

// reasonVariants returns all stop reasons, after text and alone, in bodies that stream creates from a JSON value.
// callStream creates a body with a call "read" with the id "c1" and the arguments {}.
func reasonVariants(stream, emptyStream, callStream func(reason string) string) (out []variant) {
	for _, reason := range brokenReasons {
		quoted := `"` + reason + `"`
		out = append(out,
			variant{name: reason + " after text", body: stream(quoted), text: "Hi", fails: failsLate(kindBroken, anyStatus, "")},
			variant{name: reason + " alone", body: emptyStream(quoted), fails: failsAlways(kindBroken, anyStatus, "")},
			variant{name: reason + ", then an answer", body: emptyStream(quoted), later: &variant{body: stream(`"stop"`)}, text: "Hi", tries: 2})
	}
	for reason, stop := range wholeReasons {
		quoted := `"` + reason + `"`
		out = append(out,
			variant{name: reason + " after text", body: stream(quoted), text: "Hi", stop: stop},
			variant{name: reason + " alone", body: emptyStream(quoted), stop: stop})
	}
	for _, reason := range []string{"tool_calls", "function_call", "tool_use", "tool_call", "TOOL_CALLS"} {
		out = append(out, variant{name: reason + " with tools", tools: true, body: callStream(`"` + reason + `"`),
			blocks: []history.Block{wantCall("c1", "read", "{}")}, stop: reply.StopToolUse})
	}
	return out
}

// statusVariants returns all statuses with a meaning, each with an error object without further information, and good
// as the response to a second attempt.
func statusVariants(good string) (out []variant) {
	const body = `{"error":{"message":"the engine has stopped","type":"boom"}}`
	for status, kind := range map[int]ErrorKind{400: KindInvalid, 401: KindAuth, 402: KindQuota, 403: KindAuth, 404: KindInvalid,
		405: KindInvalid, 413: KindInvalid, 422: KindInvalid, 501: KindInvalid} {
		out = append(out, variant{name: fmt.Sprint("status ", status), status: status, typ: "application/json", body: body,
			fails: failsOnce(kind, status, "the engine has stopped")})
	}
	for _, status := range []int{408, 409, 425, 429, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529, 530} {
		kind := KindOverloaded
		if status == http.StatusTooManyRequests {
			kind = KindRate
		}
		out = append(out,
			variant{name: fmt.Sprint("status ", status), status: status, typ: "application/json", body: body,
				fails: failsAlways(kind, status, "the engine has stopped")},
			variant{name: fmt.Sprint("status ", status, ", then an answer"), status: status, typ: "application/json", body: body,
				later: &variant{body: good}, text: "Hi", tries: 2},
			variant{name: fmt.Sprint("status ", status, " without a body"), status: status, typ: noType, body: "",
				fails: failsAlways(kind, status, fmt.Sprint(status))})
	}
	return out
}

// largeText is larger than any buffer.
var largeText = strings.Repeat("0123456789äöü😀 ", 300<<10/20)

// fuzzStream reads any bytes, split anywhere, through the client of a kind. The result must be consistent, and must not
// depend on the splits.
func fuzzStream(f *testing.F, kind Kind, seeds []variant) {
	for i, v := range seeds {
		if len(v.body) < 4<<10 {
			f.Add([]byte(v.body), uint64(i))
		}
	}
	types := []string{"text/event-stream", "application/json", "text/plain", "text/html"}
	f.Fuzz(func(t *testing.T, body []byte, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 0))
		typ := types[random.IntN(len(types))]
		if random.IntN(2) == 0 {
			typ = types[0]
		}
		tools, broken := random.IntN(2) == 0, random.IntN(8) == 0
		one := streamOf(t, kind, typ, tools, broken, []string{string(body)})
		other := streamOf(t, kind, typ, tools, broken, randomParts(random, string(body)))
		if diff := cmp.Diff(one, other, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("in parts: %s", diff)
		}
	})
}

// streamOutcome is the part of a result that must not depend on the splits.
type streamOutcome struct {
	Blocks   []comparableBlock
	Stop     reply.StopReason
	Usage    history.Usage
	Reported bool
	Err      string
	Requests int
}

func streamOf(t *testing.T, kind Kind, typ string, tools, broken bool, parts []string) streamOutcome {
	t.Helper()
	requests := 0
	c := matrixClient(t, "http://provider.invalid", roundTrip(func(*http.Request) *http.Response {
		requests++
		body := &partReader{parts: slices.Clone(parts), end: io.EOF}
		if broken {
			body.end = io.ErrUnexpectedEOF
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {typ}}, Body: body, ContentLength: -1}
	}))
	var rec recorder
	res, err := c.Stream(t.Context(), matrixRequest(kind, tools), rec.on)
	if fault := disagreement(res, err, rec.events); fault != "" {
		t.Fatal(fault)
	}
	if requests < 1 || requests > 2*maxTries { // some attempts may omit a parameter
		t.Fatalf("%d requests", requests)
	}
	out := streamOutcome{withoutIDs(res.Blocks), res.StopReason, res.Usage, res.UsageReported, "", requests}
	if err != nil {
		out.Err = err.Error()
	}
	return out
}

// randomParts splits body into parts of 1 to 16 bytes.
func randomParts(random *rand.Rand, body string) (parts []string) {
	for len(body) > 0 {
		n := min(len(body), 1+random.IntN(16))
		parts = append(parts, body[:n])
		body = body[n:]
	}
	return parts
}
