package server

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"strata/internal/testclient"
	"strata/rpc"
	"strata/server/wire"
)

// parameter is a parameter of a method, by the fields that its handler decodes.
type parameter struct {
	path  []string // names of members; "0" is the first element of a list
	typ   reflect.Type
	need  string
	below []parameter
}

// parametersOf returns the members of an object that is decoded into a struct, and theirs.
func parametersOf(t reflect.Type, path []string, within []reflect.Type) (all []parameter) {
	if slices.Contains(within, t) {
		return nil // blocks of a tool's result are blocks
	}
	within = append(within[:len(within):len(within)], t)
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			all = append(all, parametersOf(f.Type, path, within)...)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		p := parameter{path: append(path[:len(path):len(path)], name), typ: f.Type, need: f.Tag.Get("need")}
		element, at := f.Type, p.path
		for element.Kind() == reflect.Pointer || element.Kind() == reflect.Slice && element.Elem().Kind() != reflect.Uint8 {
			if element.Kind() == reflect.Slice {
				at = append(at[:len(at):len(at)], "0")
			}
			element = element.Elem()
		}
		if element.Kind() == reflect.Struct && !decodesItself(element) {
			p.below = parametersOf(element, at, within)
		}
		all = append(all, p)
	}
	return all
}

func decodesItself(t reflect.Type) bool {
	p := reflect.New(t).Interface()
	_, fromJSON := p.(json.Unmarshaler)
	_, fromText := p.(encoding.TextUnmarshaler)
	return fromJSON || fromText
}

// name returns the name of a parameter in errors.
func (p *parameter) name() string {
	name := "params"
	for _, member := range p.path {
		if member == "0" {
			name += "[0]"
			continue
		}
		name += "." + member
	}
	return name
}

// valid returns a value of the parameter's type; "" of a string that may be empty would not show anything.
func (p *parameter) valid() any {
	t := p.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == reflect.TypeFor[json.RawMessage]():
		return "text"
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return "aGk="
	case t.Kind() == reflect.Slice:
		return []any{}
	case t.Kind() == reflect.Map || t.Kind() == reflect.Struct && !decodesItself(t):
		return map[string]any{}
	case t.Kind() == reflect.Struct && t.Name() == "Time":
		return "2026-01-05T12:00:00Z"
	case t.Kind() == reflect.String || t.Kind() == reflect.Struct:
		return "sess_00000000000000000000000000"
	case t.Kind() == reflect.Bool:
		return true
	default:
		return 1
	}
}

// wrong returns values that the parameter's type cannot hold; none if it holds any.
func (p *parameter) wrong() []any {
	t := p.typ
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	all := []any{"text", 1.5, 1, true, []any{1}, map[string]any{"a": 1}}
	fits := func(v any) bool {
		switch {
		case t == reflect.TypeFor[json.RawMessage]():
			return true
		case t == reflect.TypeFor[wire.ForkPoint]():
			return v == "text" || v == 1
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
			return v == "text" // is base64
		case t.Kind() == reflect.Slice && t.Elem() == reflect.TypeFor[json.RawMessage]():
			return reflect.TypeOf(v) == reflect.TypeFor[[]any]()
		case t.Kind() == reflect.Struct && !decodesItself(t):
			return reflect.TypeOf(v) == reflect.TypeFor[map[string]any]()
		case t.Kind() == reflect.Map:
			return reflect.TypeOf(v) == reflect.TypeFor[map[string]any]()
		case t.Kind() == reflect.String:
			return v == "text"
		case t.Kind() == reflect.Bool:
			return v == true
		case t.Kind() == reflect.Float64:
			return v == 1 || v == 1.5
		case strings.Contains(t.Kind().String(), "int"):
			return v == 1
		}
		return false
	}
	return slices.DeleteFunc(all, fits)
}

// needed returns an object with all parameters that must be there.
func needed(all []parameter) map[string]any {
	object := make(map[string]any)
	for i := range all {
		if p := &all[i]; p.need != "" {
			object[p.path[len(p.path)-1]] = p.valid()
		}
	}
	return object
}

// with returns an object with all needed members, also of the objects and lists on the way, in which one is set.
// An absent value removes it.
func with(all []parameter, path []string, name string, value any) map[string]any {
	object := needed(all)
	if len(path) == 1 {
		delete(object, path[0])
		if value != absent {
			object[name] = value
		}
		return object
	}
	i := slices.IndexFunc(all, func(p parameter) bool { return p.path[len(p.path)-1] == path[0] })
	if path[1] == "0" {
		object[path[0]] = []any{with(all[i].below, path[2:], name, value)}
	} else {
		object[path[0]] = with(all[i].below, path[1:], name, value)
	}
	return object
}

var absent = any(struct{ absent bool }{})

// every calls do for all parameters, however deep.
func every(all []parameter, do func(p *parameter)) {
	for i := range all {
		do(&all[i])
		every(all[i].below, do)
	}
}

// Of every method, each parameter is tried with wrong types, missing, null, and in another letter case.
func TestF26EveryParameterOfEveryMethod(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	refused := func(method string, params map[string]any, want string) {
		t.Helper()
		err := e.Call(method, params, nil)
		raw, _ := json.Marshal(params)
		fault := wireFault(t, fmtError(method, raw, err), rpc.CodeInvalidParams)
		if !strings.HasPrefix(fault.Message, want) || strings.Contains(fault.Message, "  ") {
			t.Errorf("%s %.300s: %q, want %q", method, raw, fault.Message, want)
		}
	}
	tried := 0
	for name, m := range methodTable() {
		if name == "initialize" || name == "$/cancel_request" { // see below
			continue
		}
		all := parametersOf(m.params, nil, nil)
		every(all, func(p *parameter) {
			last := p.path[len(p.path)-1]
			tried++
			for _, wrong := range p.wrong() {
				want := p.name() + ": must be "
				if fmt.Sprint(wrong) == "[1]" && p.typ.Kind() == reflect.Slice && p.typ.Elem().Kind() != reflect.Uint8 {
					want = p.name() + "[0]: must be "
				}
				if fmt.Sprint(wrong) == "map[a:1]" && p.typ.Kind() == reflect.Map {
					continue
				}
				refused(name, with(all, p.path, last, wrong), want)
			}
			if p.need == "" {
				return
			}
			refused(name, with(all, p.path, last, absent), p.name()+" is missing")
			refused(name, with(all, p.path, last, nil), p.name()+" is missing")
			refused(name, with(all, p.path, strings.ToUpper(last), p.valid()), p.name()+" is missing")
			if p.need == "content" {
				empty := any("")
				if p.typ.Kind() == reflect.Slice {
					empty = []any{}
				}
				refused(name, with(all, p.path, last, empty), p.name()+": must not be empty")
			}
		})
		for _, params := range []string{"[]", "[1]"} {
			refusedRaw(t, e, name, params, rpc.CodeInvalidParams)
		}
		for _, params := range []string{"5", `"x"`, "true"} {
			refusedRaw(t, e, name, params, rpc.CodeInvalidRequest)
		}
	}
	if tried < 150 {
		t.Errorf("only %d parameters were tried", tried)
	}
}

// fmtError is err with the request that led to it.
func fmtError(method string, raw []byte, err error) error {
	if err == nil {
		return fmt.Errorf("%s %.300s is accepted", method, raw)
	}
	return fmt.Errorf("%s %.300s: %w", method, raw, err)
}

func refusedRaw(t *testing.T, e *testclient.Editor, method, params string, code int) {
	t.Helper()
	err := e.Call(method, json.RawMessage(params), nil)
	wireFault(t, fmtError(method, []byte(params), err), code)
}

// An optional parameter in another letter case, or null, is not there.
func TestF26NamesMatchExactly(t *testing.T) {
	tried := 0
	for name, m := range methodTable() {
		all := parametersOf(m.params, nil, nil)
		every(all, func(p *parameter) {
			last := p.path[len(p.path)-1]
			if p.need != "" || slices.Contains(p.path, "0") {
				return
			}
			tried++
			decode := func(params map[string]any) any {
				raw, err := json.Marshal(params)
				must(t, err)
				into := reflect.New(m.params).Interface()
				if err := wire.Decode(raw, into); err != nil && !strings.Contains(err.Error(), "text is missing") && !strings.Contains(err.Error(), "must have 1 to") {
					t.Errorf("%s %s: %v", name, raw, err)
				}
				return into
			}
			without := decode(with(all, p.path, last, absent))
			for _, other := range []string{strings.ToUpper(last), strings.ToUpper(last[:1]) + last[1:], last + " "} {
				if other != last && !reflect.DeepEqual(without, decode(with(all, p.path, other, p.valid()))) {
					t.Errorf("%s: %s is taken for %s", name, other, p.name())
				}
			}
			if !reflect.DeepEqual(without, decode(with(all, p.path, last, nil))) {
				t.Errorf("%s: %s: null is not as if it were missing", name, p.name())
			}
		})
	}
	if tried < 60 {
		t.Errorf("only %d parameters were tried", tried)
	}
}

func TestF26FoundByUse(t *testing.T) {
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	for _, c := range []struct{ method, params, want string }{
		{"session/new", `{"cwd":"/","mcpServers":{}}`, "params.mcpServers: must be a list"},
		{"session/new", `{"CWD":"/tmp","mcpServers":[]}`, "params.cwd is missing"},
		{"session/new", `{"cwd":"relative","mcpServers":[]}`, "params.cwd: relative is not an absolute path"},
		{"session/prompt", `{"prompt":[]}`, "params.sessionId is missing"},
		{"session/prompt", `{"sessionId":"","prompt":[]}`, "params.sessionId: must not be empty"},
		{"session/prompt", `{"sessionId":"SID","prompt":[{"type":"image","mimeType":"image/png","data":"%%"}]}`, "params.prompt[0].data: must be base64 text"},
		{"session/prompt", `{"sessionId":"SID","prompt":[{"type":"text","text":"x"},{"type":"image","mimeType":"image/png","data":"data:image/png;base64,aGk="}]}`,
			"params.prompt[1].data: must be base64 text, not a data: URL"},
		{"session/prompt", `{"sessionId":"SID","prompt":[{"text":"x"}]}`, "params.prompt[0].type is missing"},
		{"session/prompt", `{"sessionId":"SID","prompt":[{"type":"text"}]}`, "params.prompt[0].text is missing"},
		{"_strata/history/append", `{"sessionId":"SID","messages":[{"role":"user","content":[{"type":"image","mimeType":"image/png","data":5}]}]}`,
			"params.messages[0].content[0].data: must be base64 text"},
		{"_strata/history/append", `{"sessionId":"SID","messages":[{"role":"user","content":{}}]}`, "params.messages[0].content: must be a text or a list of blocks"},
		{"_strata/history/append", `{"sessionId":"SID","messages":[{"role":"user","content":"x","meta":{"tool":5}}]}`, "params.messages[0].meta.tool: must be a string"},
		{"_strata/session/attach", `{"sessionId":"SID","after":"x"}`, "params.after: must be a whole number"},
		{"_strata/session/attach", `{"sessionId":"SID","after":1.5}`, "params.after: must be a whole number"},
		{"_strata/session/fork", `{"sessionId":"SID","at":1.5}`, "params.at: must be the id of a checkpoint or a sequence number"},
		{"_strata/context/commit", `{"sessionId":"SID","usage":{"input":9223372036854775808}}`, "params.usage.input: must be a whole number from "},
	} {
		err := e.Call(c.method, json.RawMessage(strings.ReplaceAll(c.params, "SID", sid)), nil)
		if fault := wireFault(t, err, rpc.CodeInvalidParams); !strings.HasPrefix(fault.Message, c.want) {
			t.Errorf("%s %s: %q, want %q", c.method, c.params, fault.Message, c.want)
		}
	}
	mustPrompt(t, e, sid, "hello")
	first, err := e.Attach(sid, testclient.Place{})
	must(t, err)
	for _, after := range []string{"-5", "-9223372036854775809", "18446744073709551616", "99999999999999999999999", "1000"} {
		var got testclient.Attached
		params := fmt.Sprintf(`{"sessionId":%q,"epoch":%q,"after":%s}`, sid, first.Epoch, after)
		must(t, e.Call("_strata/session/attach", json.RawMessage(params), &got))
		if got.Complete || len(got.Snapshot) == 0 {
			t.Errorf("attach after %s: %+v", after, got)
		}
	}
}

// A long value of any parameter comes back shortened, in the message and in the data of an error.
func TestR08EchoesAreShort(t *testing.T) {
	long(t)
	ts := startServer(t)
	e := ts.editor()
	sid := e.NewSession(ts.work)
	long := strings.Repeat("ü", 100<<10)
	for name, m := range methodTable() {
		if name == "initialize" {
			continue
		}
		all := parametersOf(m.params, nil, nil)
		every(all, func(p *parameter) {
			t := p.typ
			for t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			var value any = long
			switch {
			case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
				value = []string{long}
			case t.Kind() != reflect.String && t != reflect.TypeFor[wire.ForkPoint]():
				return
			}
			params := with(all, p.path, p.path[len(p.path)-1], value)
			if _, ok := params["sessionId"]; ok && p.path[0] != "sessionId" {
				params["sessionId"] = sid
			}
			err := e.Call(name, params, nil)
			if fault, ok := errors.AsType[*rpc.Error](err); ok {
				data, _ := fault.Data.(json.RawMessage)
				if len(fault.Message)+len(data) > 3000 || !utf8.ValidString(fault.Message) {
					ts.t.Errorf("%s, %s: an error of %d bytes with data of %d", name, p.name(), len(fault.Message), len(data))
				}
			}
		})
	}
	for _, c := range []struct{ method, params, want string }{
		{"session/set_config_option", `{"sessionId":"SID","configId":"LONG","value":"x"}`, "unknown option"},
		{"session/set_config_option", `{"sessionId":"SID","configId":"profile","value":"LONG"}`, "there is no profile"},
		{"_strata/history/append", `{"sessionId":"SID","messages":[{"role":"user","content":[{"type":"LONG"}]}]}`, "unknown type"},
		{"LONG", `{}`, "unknown method"},
	} {
		fill := strings.NewReplacer("SID", sid, "LONG", long)
		err := e.Call(fill.Replace(c.method), json.RawMessage(fill.Replace(c.params)), nil)
		fault, ok := errors.AsType[*rpc.Error](err)
		if !ok || !strings.Contains(fault.Message, c.want) || !strings.Contains(fault.Message, "üü…") || len(fault.Message) > 400 {
			t.Errorf("%s %.80s: %.300v", c.method, c.params, err)
		}
	}
}
