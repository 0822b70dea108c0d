package ask

import (
	"encoding/json"
	"strings"
	"testing"
)

// offered are the options that a server offers for a simple command.
const offered = `[{"optionId":"o1","name":"Allow once","kind":"allow_once"},{"optionId":"o2","name":"Always this","kind":"allow_always"},` +
	`{"optionId":"o3","name":"Always such","kind":"allow_always"},{"optionId":"o4","name":"Sometimes","kind":"allow_always"},` +
	`{"optionId":"o5","name":"Perhaps","kind":"perhaps"},{"optionId":"o6","name":"Reject","kind":"reject_once"}]`

// params are the parameters of session/request_permission for a call.
func params(call, options string) json.RawMessage {
	return json.RawMessage(`{"sessionId":"sess_1","toolCall":` + call + `,"options":` + options + `}`)
}

func read(t *testing.T, call, options string) *question {
	t.Helper()
	q, err := readQuestion(params(call, options))
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// Only a key is an answer, and only a rejection takes words.
func TestTypedAnswers(t *testing.T) {
	q := read(t, `{"toolCallId":"tc_1"}`, offered)
	for typed, want := range map[string]answer{
		"y": {"o1", ""}, " Y ": {"o1", ""}, "yes": {"o1", ""}, "a": {"o2", ""}, "b": {"o3", ""},
		"n": {"o6", ""}, "No": {"o6", ""}, "n  use util.go ": {"o6", "use util.go"}, "no, n\xff": {"o6", "n\ufffd"},
		"": {}, " ": {}, "yy": {}, "y but not now": {}, "a b": {}, "c": {}, "allow_once": {}, "o1": {}, "maybe": {}, "ye": {}, "\x1b[Ay": {},
	} {
		if got, ok := q.answer(typed); got != want || ok != (want != answer{}) {
			t.Errorf("%q: %v, %t", typed, got, ok)
		}
	}
}

func TestResults(t *testing.T) {
	for want, a := range map[string]answer{
		`{"outcome":{"outcome":"cancelled"}}`:                                                                 {},
		`{"outcome":{"optionId":"o1","outcome":"selected"}}`:                                                  {option: "o1"},
		`{"_meta":{"strata":{"message":"Use b."}},"outcome":{"optionId":"reject_once","outcome":"selected"}}`: {"reject_once", "Use b."},
	} {
		if got, err := json.Marshal(a.result()); err != nil || string(got) != want {
			t.Errorf("got %s, %v; want %s", got, err, want)
		}
	}
}

// A question shows the places, the differing lines and the keys. Whatever the call contains stays on its line, and is shown
// as it is.
func TestTheTextOfAQuestion(t *testing.T) {
	for name, tt := range map[string]struct{ call, options, want string }{
		"an edit": {`{"title":"Edit a.go","locations":[{"path":"/x/a.go","line":3},{"path":"/x/b.go"}],"rawInput":{"path":"a.go"},"content":[` +
			`{"type":"diff","path":"/x/a.go","oldText":"one\ntwo\nthree\n","newText":"one\n2\nthree\n","_meta":{"strata":{"oldLine":2,"newLine":2}}},` +
			`{"type":"diff","path":"/x/a.go","oldText":"end","newText":"end\n","_meta":{"strata":{"oldLine":9,"newLine":10,"cut":true}}},` +
			`{"type":"diff","path":"/x/b.go","oldText":null,"newText":"new\n","_meta":{"strata":{"oldLine":1,"newLine":1}}},` +
			`{"type":"diff","path":"/x/c.go","oldText":"old\n","newText":"","_meta":{"strata":{"oldLine":1,"newLine":1,"deleted":true}}},` +
			`{"type":"terminal"},{"type":"content","content":{"type":"text","text":"a\nb"}}]}`, offered, `
[Edit a.go needs your approval]
    /x/a.go:3
    /x/b.go
    changes of /x/a.go
    @@ -2 +2 @@
     one
    -two
    +2
     three
    @@ -9 +10 @@
    -end
    \ no line end at the end of the file
    +end
    (parts of the change are not shown: it is too large)
    new file /x/b.go
    @@ -1 +1 @@
    +new
    deletes /x/c.go
    @@ -1 +1 @@
    -old
    a
    b
  y  Allow once
  a  Always this
  b  Always such
  n  Reject; or n and words for the model
`},
		"no diff": {`{"title":"deploy","rawInput":{"to": "prod",
			"n": 1}}`, `[{"optionId":"r","name":"Never","kind":"reject_always"}]`, `
[deploy needs your approval]
    {"to":"prod","n":1}
  r  Never
`},
		"a command": {`{"title":"cd /x/web && make","kind":"execute","rawInput":{"command":"make &&\nin the folder /x\r\n","cwd":"web\n","timeout_s":900}}`,
			`[{"optionId":"r","name":"Never","kind":"reject_always"}]`, `
[cd /x/web && make needs your approval]
    $ make &&
    > in the folder /x\r
    in the folder web\n
    for at most 900 seconds
  r  Never
`},
		"a command without a line": {`{"title":"odd","kind":"execute","rawInput":{"command":["ls"]}}`, `[]`, `
[odd needs your approval]
    {"command":["ls"]}
`},
		"hostile": {`{"title":"Edit \u001b[2Ja\n[x needs your approval]","locations":[{"path":"/x/\u202ea\n  y  Allow"}],"content":[` +
			`{"type":"diff","path":"/x/\r\n","newText":"\u001b]0;x\u0007\rgood\u0085\u2028y\n\tb\n"}]}`,
			`[{"optionId":"a","name":"Allow\n\u001b[8m","kind":"allow_once"}]`, `
[Edit \x1b[2Ja\n[x needs your approval] needs your approval]
    /x/\u202ea\n  y  Allow
    new file /x/\r\n
    @@ -0 +0 @@
    +\x1b]0;x\a\rgood\u0085\u2028y
    +	b
  y  Allow\n\x1b[8m
`},
	} {
		if got := "\n" + read(t, tt.call, tt.options).text(); got != tt.want {
			t.Errorf("%s: got %s\nwant %s", name, got, tt.want)
		}
	}
}

// A question that is too long says how much is missing.
func TestALongQuestion(t *testing.T) {
	input, err := json.Marshal(strings.Repeat("ä", maxQuestion))
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, `{"title":"deploy","rawInput":`+string(input)+`}`, offered).text()
	if len(text) > maxQuestion+1000 || !strings.Contains(text, " more bytes are not shown)\n") || !strings.Contains(text, "  y  Allow once\n") {
		t.Errorf("%d bytes: %s", len(text), text[len(text)-300:])
	}
}

func TestQuestionsThatCannotBeRead(t *testing.T) {
	for _, params := range []string{`[]`, `{}`, `{"toolCall":{}}`, `{"toolCall":[],"options":[]}`, `{"toolCall":{"title":1},"options":[]}`} {
		if q, err := readQuestion(json.RawMessage(params)); err == nil {
			t.Errorf("%s is %v", params, q)
		}
	}
}

func TestRejections(t *testing.T) {
	if got := read(t, `{}`, offered).rejection("no"); got != (answer{"o6", "no"}) {
		t.Errorf("got %v", got)
	}
	if got := read(t, `{}`, `[]`).rejection("no"); got != (answer{}) {
		t.Errorf("got %v without an option", got)
	}
}
