package tools

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestInputsAreChecked(t *testing.T) {
	const schema = `{"type":"object","required":["a"],"properties":{
		"a":{"type":"string"},"n":{"type":"integer","minimum":1,"maximum":9},"x":{"type":"number"},"b":{"type":"boolean"},
		"e":{"enum":["p","q",1,null,[1]]},"l":{"type":"array","items":{"type":"object","required":["k"],"properties":{"k":{"type":"integer"}}}},
		"u":{"type":["string","null"]},"m":{"type":"object","additionalProperties":{"type":"string"}},"no":false,"any":true,
		"old":{"type":"array","items":[{"type":"string"}]}},"additionalProperties":false,"oneOf":7}`
	s, err := ParseSchema(json.RawMessage(schema))
	must(t, err)
	for _, tt := range []struct{ args, want, fault string }{
		{`{"a":"x"}`, `{"a":"x"}`, ""},
		{` {"a":"x","n":9} `, ` {"a":"x","n":9} `, ""},
		{`{"a":"x","n":5.0}`, `{"a":"x","n":5}`, ""},
		{`{"a":"x","n":5e0,"x":1.5}`, `{"a":"x","n":5,"x":1.5}`, ""},
		{`{"a":"x","n":null,"b":null,"no":null}`, `{"a":"x","no":null}`, "no must be left out"},
		{`{"a":"x","n":null,"l":null}`, `{"a":"x"}`, ""},
		{`{"a":"x","u":null,"e":null,"any":null}`, `{"a":"x","u":null,"e":null,"any":null}`, ""},
		{`{"a":"x","e":1.0}`, `{"a":"x","e":1.0}`, ""},
		{`{"a":"x","e":[1]}`, `{"a":"x","e":[1]}`, ""},
		{`{"a":"x","old":[1]}`, `{"a":"x","old":[1]}`, ""},
		{`{"a":"x","l":[{"k":1},{"k":2.0}]}`, `{"a":"x","l":[{"k":1},{"k":2}]}`, ""},
		{`{"a":"x","any":{"deep":[1,{"er":null}]}}`, `{"a":"x","any":{"deep":[1,{"er":null}]}}`, ""},

		{``, "", "a is missing"},
		{`null`, "", "the input must be an object, not null"},
		{`[]`, "", "the input must be an object, not a list"},
		{`{"a":null}`, "", "a must be a string, not null"},
		{`{"a":7}`, "", "a must be a string, not 7"},
		{`{"a":{}}`, "", "a must be a string, not an object"},
		{`{"a":"x","n":0}`, "", "n must be at least 1, not 0"},
		{`{"a":"x","n":10}`, "", "n must be at most 9, not 10"},
		{`{"a":"x","n":1.5}`, "", "n must be a whole number, not 1.5"},
		{`{"a":"x","n":1e999}`, "", "n must be a whole number, not 1e999"},
		{`{"a":"x","b":"true"}`, "", `b must be true or false, not "true"`},
		{`{"a":"x","x":"1"}`, "", `x must be a number, not "1"`},
		{`{"a":"x","e":"r"}`, "", `e must be one of "p", "q", 1, null, a list, not "r"`},
		{`{"a":"x","e":{}}`, "", `e must be one of "p", "q", 1, null, a list, not an object`},
		{`{"a":"x","l":[{"k":1},{}]}`, "", "l[1].k is missing"},
		{`{"a":"x","l":[{"k":"1"}]}`, "", `l[0].k must be a whole number, not "1"`},
		{`{"a":"x","l":{}}`, "", "l must be a list, not an object"},
		{`{"a":"x","u":1}`, "", "u must be a string or null, not 1"},
		{`{"a":"x","m":{"z":1}}`, "", "m.z must be a string, not 1"},
		{`{"a":"x","no":1}`, "", "no must be left out"},
		{`{"a":"x","A":1}`, "", "A is unknown; the members are a, any, b, e, l, m, n, no, old, u, x"},
		{"{\"a\":\"x\",\"q\\nr\":1}", "", `"q\nr" is unknown; the members are a, any, b, e, l, m, n, no, old, u, x`},
		{`{"a":"x"} {}`, "", "the input has text after the JSON object"},
		{`{"a":"x"`, "", "the input ends in the middle of the JSON"},
		{`{"a":'x'}`, "", `the input is not valid JSON (invalid character '\'' looking for beginning of value)`},
		{`{"a":` + strings.Repeat("[", 20_000) + `}`, "", "the input is not valid JSON (invalid character '[' exceeded max depth)"},
		{`{"a":7,"a":"x"}`, `{"a":7,"a":"x"}`, ""},
	} {
		got, err := s.Check(tt.args)
		switch {
		case tt.fault != "" && (err == nil || err.Error() != tt.fault):
			t.Errorf("%.100s: %v, want %s", tt.args, err, tt.fault)
		case tt.fault == "" && err != nil:
			t.Errorf("%s: %v", tt.args, err)
		case tt.fault == "" && string(got) != tt.want:
			t.Errorf("%s: %s, want %s", tt.args, got, tt.want)
		}
	}
}

func TestNamesAndValuesInMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("ü", 10_000)
	s, err := ParseSchema(json.RawMessage(`{"type":"object","properties":{"a":{"enum":["` + long + `","b"]}},"additionalProperties":false}`))
	must(t, err)
	for _, args := range []string{`{"` + long + `":1}`, `{"a":"c` + long + `"}`} {
		if _, err := s.Check(args); err == nil || len(err.Error()) > 600 {
			t.Errorf("%v", err)
		}
	}
}

func TestSchemasAreChecked(t *testing.T) {
	deep := strings.Repeat(`{"type":"object","properties":{"a":`, 40) + `true` + strings.Repeat(`}}`, 40)
	for _, tt := range []struct{ schema, want string }{
		{``, ": must be an object"},
		{`null`, ": must be an object"},
		{`true`, ": must be an object"},
		{`{}`, `.type: must be "object"`},
		{`{"type":"objekt"}`, `.type: "objekt" is not a type`},
		{`{"type":7}`, ".type: must be a type or a list of types"},
		{`{"type":["object","null"]}`, `.type: must be "object"`},
		{`{"type":"object","properties":[]}`, ".properties: must be an object"},
		{`{"type":"object","properties":{"a":7}}`, ".properties.a: must be a schema"},
		{`{"type":"object","properties":{"a":null}}`, ".properties.a: must be a schema"},
		{`{"type":"object","properties":{"a":{"enum":[]}}}`, ".properties.a.enum: must be a list of values"},
		{`{"type":"object","properties":{"a":{"items":7}}}`, ".properties.a.items: must be a schema"},
		{`{"type":"object","properties":{"a":{"minimum":"1"}}}`, ".properties.a.minimum: must be a number"},
		{`{"type":"object","required":"a"}`, ".required: must be a list of names"},
		{`{"type":"object","additionalProperties":"no"}`, ".additionalProperties: must be a schema"},
		{deep, "is nested more than 32 levels deep"},
		{`{"type":"object","title":"` + strings.Repeat("a", MaxSchema) + `"}`, "exceeds the limit of 65536"},
		{`{"type":"object","$ref":"#/x","format":7,"properties":{"a":{"type":"string","anyOf":[]}}}`, ""},
		{`{"type":["object"]}`, ""},
	} {
		_, err := ParseSchema(json.RawMessage(tt.schema))
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.schema, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%.100s: %v, want %s", tt.schema, err, tt.want)
		}
	}
}

// An input that was checked passes again, unchanged; the check neither panics nor makes an invalid input.
func FuzzSchema(f *testing.F) {
	f.Add(readSchema, `{"path":"a","start_line":1.0,"end_line":null}`)
	f.Add(planSchema, `{"entries":[{"content":"a","priority":"high","status":"pending"}]}`)
	f.Add(`{"type":"object","properties":{"a":{"enum":[null,{"b":1}]}},"additionalProperties":{"type":"integer"}}`, `{"a":{"b":1.0},"c":7e2}`)
	f.Add(`{"type":"object","required":["a"],"properties":{"a":{"type":["array","null"],"items":{"minimum":3}}}}`, `{"a":[4,null,"x"]}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		s, err := ParseSchema(json.RawMessage(schema))
		if err != nil {
			return
		}
		checked, err := s.Check(args)
		if err != nil {
			if err.Error() == "" {
				t.Error("the error says nothing")
			}
			return
		}
		var v map[string]any
		if err := json.Unmarshal(checked, &v); err != nil && !strings.Contains(err.Error(), "cannot unmarshal number") {
			t.Fatalf("%s is no object: %v", checked, err)
		}
		again, err := s.Check(string(checked))
		if err != nil || !reflect.DeepEqual(string(again), string(checked)) {
			t.Fatalf("%s, then %s, %v", checked, again, err)
		}
	})
}
