package rpc

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestClientFramesAreParsedLikeAServerDoes(t *testing.T) {
	for frame, want := range map[string]struct {
		id, method string
		code       int
	}{
		`{"jsonrpc":"2.0","id":7,"method":"a/b","params":{"x":1}}`: {"7", "a/b", 0},
		`{"jsonrpc":"2.0","id":"\u0061","method":"\u0061"}`:        {`"\u0061"`, "a", 0},
		`{"jsonrpc":"2.0","method":"n"}`:                           {"", "n", 0},
		`{"jsonrpc":"2.0","id":1,"result":{}}`:                     {"1", "", 0},
		`{"jsonrpc":"2.0","id":1,"error":{}}`:                      {"1", "", 0},
		`{"id":1,"method":"n"}`:                                    {"1", "n", CodeInvalidRequest},
		`{"jsonrpc":"2.0","id":1.5,"method":"n"}`:                  {"", "n", CodeInvalidRequest},
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"n"}`:             {"", "n", CodeInvalidRequest},
		`[]`:  {"", "", CodeInvalidRequest},
		`{`:   {"", "", CodeParse},
		"":    {"", "", CodeParse},
		" \t": {"", "", CodeParse},
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}": {"", "", CodeParse},
	} {
		e, fault := ParseClientFrame([]byte(frame))
		code := 0
		if fault != nil {
			code = fault.Code
		}
		if string(e.ID) != want.id || e.Method != want.method || code != want.code {
			t.Errorf("%q: id %s, method %q, %v", frame, e.ID, e.Method, fault)
		}
	}
}

func TestFramesOfAProxy(t *testing.T) {
	failed, err := ErrorFrame(nil, &Error{Code: 1, Message: "<m>", Data: map[string]int{"n": 2}})
	if want := `{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"<m>","data":{"n":2}}}`; err != nil || string(failed) != want {
		t.Errorf("got %s, %v", failed, err)
	}
	call, err := CallFrame(json.RawMessage(`"i"`), "m", map[string]string{"a": "<>"})
	if e, fault := ParseClientFrame(call); err != nil || fault != nil || string(e.ID) != `"i"` || e.Method != "m" || string(e.Params) != `{"a":"<>"}` {
		t.Errorf("got %s, %v, %v", call, err, fault)
	}
	notification, err := CallFrame(nil, "m", struct{}{})
	if e, fault := ParseClientFrame(notification); err != nil || fault != nil || e.ID != nil || e.IsResponse() {
		t.Errorf("got %s, %v, %v", notification, err, fault)
	}
	if e, ok := ParseServerFrame(ResponseFrame(json.RawMessage("1"), Envelope{Result: json.RawMessage(`[]`)})); !ok || !e.IsResponse() || string(e.Result) != "[]" {
		t.Errorf("got %+v, %t", e, ok)
	}
	if _, err := CallFrame(nil, "m", make(chan int)); err == nil {
		t.Error("parameters that are not JSON are encoded")
	}
	if _, err := ErrorFrame(nil, &Error{Data: errors.ErrUnsupported.Error}); err == nil {
		t.Error("data that are not JSON are encoded")
	}
}
