package rpc

import (
	"strings"
	"testing"
)

// exchange lists frames and the responses to them.
type exchange struct {
	name string
	send []string
	want []string
}

// conform runs each exchange over each transport. A valid request follows the frames, to check that the connection is
// still open and that there are no further responses.
func conform(t *testing.T, exchanges []exchange) {
	for _, x := range exchanges {
		t.Run(x.name, func(t *testing.T) {
			overAll(t, func(t *testing.T, tr transport) {
				s := serve(t, tr, basic, Options{}, Limits{})
				s.send(x.send...)
				s.send(call(`"end"`, "echo", ""))
				s.want(x.want...)
				s.want(result(`"end"`, "{}"))
			})
		})
	}
}

func TestK8_01NumericIDs(t *testing.T) {
	var xs []exchange
	for _, id := range []string{`7`, `"7"`, `"abc"`, `""`, `0`, `-1`, `-0`, `9007199254740993`, `123456789012345678901234567890`, `"a\u0062\ud83d"`, `"ü"`} {
		xs = append(xs, exchange{"echoed " + id, []string{call(id, "echo", "")}, []string{result(id, "{}")}})
	}
	for _, id := range []string{`1e3`, `1.0`, `7.5`, `-1E2`, `null`, `true`, `{}`, `[]`, `"` + strings.Repeat("x", maxIDBytes) + `"`} {
		xs = append(xs, exchange{"refused " + id[:min(len(id), 9)], []string{call(id, "echo", "")}, []string{failure("null", CodeInvalidRequest, "")}})
	}
	xs = append(xs, exchange{
		"7 and \"7\" in flight",
		[]string{call("7", "hang", ""), call(`"7"`, "hang", ""), cancelFrame(`"7"`), cancelFrame("7")},
		[]string{failure(`"7"`, CodeCancelled, ""), failure("7", CodeCancelled, "")},
	})
	conform(t, xs)
}

func cancelFrame(id string) string {
	return `{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":` + id + `}}`
}

func TestK8_02BrokenFrames(t *testing.T) {
	parse := []string{failure("null", CodeParse, "")}
	shape := []string{failure("null", CodeInvalidRequest, "")}
	conform(t, []exchange{
		{"truncated", []string{`{"jsonrpc":"2.0","id":3,`}, parse},
		{"not JSON", []string{`xyz`}, parse},
		{"two values", []string{call("1", "echo", "") + call("2", "echo", "")}, parse},
		{"closers", []string{`]]}}`}, parse},
		{"number", []string{`5`}, shape},
		{"null", []string{`null`}, shape},
		{"string", []string{`"{}"`}, shape},
		{"empty object", []string{`{}`}, shape},
		{"method is a number", []string{`{"jsonrpc":"2.0","method":1,"params":"bar"}`}, shape},
		{"method is a number, with id", []string{`{"jsonrpc":"2.0","id":4,"method":1}`}, []string{failure("4", CodeInvalidRequest, "")}},
		{"no method", []string{`{"jsonrpc":"2.0","id":"x"}`}, []string{failure(`"x"`, CodeInvalidRequest, "")}},
		{"no jsonrpc", []string{`{"id":4,"method":"echo"}`}, []string{failure("4", CodeInvalidRequest, "")}},
		{"wrong jsonrpc", []string{`{"jsonrpc":"1.0","id":4,"method":"echo"}`, `{"jsonrpc":2.0,"id":5,"method":"echo"}`}, []string{failure("4", CodeInvalidRequest, ""), failure("5", CodeInvalidRequest, "")}},
		{"array params", []string{call("4", "echo", "[1]")}, []string{failure("4", CodeInvalidParams, "")}},
		{"string params", []string{call("4", "echo", `"bar"`)}, []string{failure("4", CodeInvalidRequest, "")}},
		{"null params", []string{call("4", "echo", `null`)}, []string{result("4", "null")}},
		{"no params", []string{`{"jsonrpc":"2.0","id":4,"method":"echo"}`}, []string{result("4", "null")}},
		{"unknown method", []string{call("4", "nope", "")}, []string{failure("4", CodeMethodNotFound, "")}},
		{"unknown fields", []string{`{"ID":1,"id":4,"Method":"x","jsonrpc":"2.0","x":{"id":9},"method":"echo"}`}, []string{result("4", "null")}},
		{"white space", []string{" {\t\"jsonrpc\" : \"2.0\" ,\r \"id\" : 4 , \"method\" : \"echo\" , \"params\" : { \"a\" : [ 1 , 2 ] } } "}, []string{result("4", `{"a":[1,2]}`)}},
		{"escaped names", []string{`{"jsonrpc":"2.\u0030","\u0069d":4,"method":"ech\u006f"}`}, []string{result("4", "null")}},
		{"id twice", []string{`{"jsonrpc":"2.0","id":1,"id":2,"method":"echo"}`, `{"jsonrpc":"2.0","id":1,"\u0069d":1,"method":"echo"}`}, []string{shape[0], shape[0]}},
		{"method twice", []string{`{"jsonrpc":"2.0","method":"hang","id":4,"method":"echo"}`}, []string{failure("4", CodeInvalidRequest, "")}},
		{"bad notifications", []string{`{"method":"echo"}`, `{"jsonrpc":"2.0","method":"echo","params":[1]}`, `{"jsonrpc":"2.0","method":"nope"}`, `{"jsonrpc":"2.0","method":"panic"}`, `{"jsonrpc":"2.0","method":"a","method":"b"}`}, nil},
		{"responses", []string{`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":""}}`, `{"id":[],"result":null}`}, nil},
		{"panic", []string{call("4", "panic", "")}, []string{`{"jsonrpc":"2.0","id":4,"error":{"code":-32603,"message":"internal error"}}`}},
	})
}

func TestK8_02EmptyFrame(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		s.send("", "  ", call("1", "echo", ""))
		if tr.name != "lines" { // blank lines are ignored
			s.want(failure("null", CodeParse, ""), failure("null", CodeParse, ""))
		}
		s.want(result("1", "{}"))
	})
}

func TestK8_03Batches(t *testing.T) {
	refused := []string{`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported; send one message per frame"}}`}
	notification := `{"jsonrpc":"2.0","method":"echo"}`
	conform(t, []exchange{
		{"empty", []string{`[]`}, refused},
		{"numbers", []string{`[1,2]`}, refused},
		{"notifications", []string{`[` + notification + `,` + notification + `]`}, refused},
		{"mixed", []string{`[` + call("1", "echo", "") + `,1,` + notification + `]`}, refused},
		{"10,000", []string{`[` + strings.Repeat(notification+",", 9999) + notification + `]`}, refused},
		{"nested", []string{`[[` + call("1", "echo", "") + `]]`}, refused},
		{"truncated", []string{`[` + call("1", "echo", "")}, []string{failure("null", CodeParse, "")}},
	})
}

func TestK8_05IDInFlight(t *testing.T) {
	conform(t, []exchange{
		{
			"the second is refused, the first is untouched",
			[]string{call("5", "hang", ""), call("5", "echo", ""), cancelFrame("5")},
			[]string{failure("null", CodeInvalidRequest, `{"id":5}`), failure("5", CodeCancelled, "")},
		},
		{
			"a broken frame does not affect it either",
			[]string{call("5", "hang", ""), `{"jsonrpc":"2.0","id":5}`, cancelFrame("5")},
			[]string{failure("null", CodeInvalidRequest, `{"id":5}`), failure("5", CodeCancelled, "")},
		},
		{
			"the same string, escaped differently",
			[]string{call(`"a"`, "hang", ""), call(`"\u0061"`, "echo", ""), cancelFrame(`"\u0061"`)},
			[]string{failure("null", CodeInvalidRequest, `{"id":"\u0061"}`), failure(`"a"`, CodeCancelled, "")},
		},
		{
			"the id can be reused",
			[]string{call("5", "echo", "")},
			[]string{result("5", "{}")},
		},
		{
			"cancelling an unknown id has no effect",
			[]string{cancelFrame("5"), cancelFrame(`{}`), cancelFrame(`null`), cancelFrame(`[]`)},
			nil,
		},
	})
}

func TestK8_05ReuseAfterAnswer(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		a, b := serve(t, tr, basic, Options{}, Limits{}), serve(t, tr, basic, Options{}, Limits{})
		b.send(call("5", "hang", ""))
		for range 200 { // the id is free as soon as the peer has the response
			a.send(call("5", "echo", ""))
			a.want(result("5", "{}"))
		}
		b.send(cancelFrame("5"))
		b.want(failure("5", CodeCancelled, ""))
	})
}

func TestK8_06DeepNesting(t *testing.T) {
	refused := []string{failure("4", CodeInvalidRequest, "")}
	deep := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	var xs []exchange
	for _, n := range []int{199, 9_900, 10_001, 500_000} {
		name := map[bool]string{true: "just too deep", false: "deep"}[n == 199]
		xs = append(xs,
			exchange{name + " in a field", []string{call("4", "echo", `{"a":`+deep(n)+`}`)}, refused},
			exchange{name + " in an unknown member", []string{`{"jsonrpc":"2.0","id":4,"method":"echo","x":{"y":` + deep(n) + `}}`}, refused},
			exchange{name + " objects", []string{call("4", "echo", strings.Repeat(`{"a":`, n+1)+"1"+strings.Repeat("}", n+1))}, refused},
		)
	}
	conform(t, append(xs,
		exchange{"200 levels", []string{call("4", "echo", `{"a":`+deep(198)+`}`)}, []string{result("4", `{"a":`+deep(198)+`}`)}},
		exchange{"brackets in strings", []string{call("4", "echo", `{"a":"`+strings.Repeat(`[\"{`, 300)+`"}`)}, []string{result("4", `{"a":"`+strings.Repeat(`[\"{`, 300)+`"}`)}},
		exchange{"never closed", []string{`{"id":4,"method":` + strings.Repeat("[", 100_000)}, refused},
		exchange{"batch", []string{deep(300)}, []string{failure("null", CodeInvalidRequest, "")}},
		exchange{"notification", []string{`{"method":"echo","params":{"a":` + deep(300) + `}}`}, nil},
	))
}

func TestK8_07LoneSurrogates(t *testing.T) {
	conform(t, []exchange{{
		"escapes",
		[]string{call("4", "echo", `{"a":"\ud83d","b":"\uDE00x","c":"\ud83d\ude00","d":"\ud83d\ud83d\ude00","e":"\\ud83d","f":"\ud83d\u0041","g":"\u0000\ud83d"}`)},
		[]string{result("4", `{"a":"\ufffd","b":"\ufffdx","c":"\ud83d\ude00","d":"\ufffd\ud83d\ude00","e":"\\ud83d","f":"\ufffd\u0041","g":"\u0000\ufffd"}`)},
	}})
}

func TestK8_07InvalidUTF8(t *testing.T) {
	overAll(t, func(t *testing.T, tr transport) {
		s := serve(t, tr, basic, Options{}, Limits{})
		s.send(call("1", "echo", "{\"a\":\"\xc3\x28\"}"))
		s.wantClose(closeInvalidText)
		if s.end() == nil {
			t.Error("Serve returned no error")
		}
	})
}

// A method that is not a string makes an invalid request, whose response has its id.
func TestF26MethodThatIsNoString(t *testing.T) {
	for frame, id := range map[string]string{
		`{"method":5}`:                                     "",
		`{"jsonrpc":"2.0","id":7,"method":5}`:              "7",
		`{"jsonrpc":"2.0","id":"a","method":{"x":1}}`:      `"a"`,
		`{"jsonrpc":"2.0","id":7,"method":null}`:           "7",
		`{"jsonrpc":"2.0","id":7,"Method":"initialize"}`:   "7",
		`{"jsonrpc":"2.0","id":7,"method":5,"params":[1]}`: "7",
		`{"jsonrpc":"2.0","id":7,"method":5,"params":5}`:   "7",
		`{"jsonrpc":"2.0","id":7,"method":5,"result":{}}`:  "7",
	} {
		m, fault := parseMessage([]byte(frame), 200)
		if fault == nil || fault.Code != CodeInvalidRequest || m.kind != kindRequest || string(m.id) != id {
			t.Errorf("%s: kind %d, id %q, %v", frame, m.kind, m.id, fault)
		}
	}
}
