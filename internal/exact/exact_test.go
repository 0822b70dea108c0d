package exact

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

type inner struct {
	Text  *string         `json:"text"`
	Raw   json.RawMessage `json:"raw"`
	Again []inner         `json:"again"`
}

type base struct {
	ID   string `json:"id" need:"content"`
	Name string `json:"name"` // hidden by the outer one
}

type outer struct {
	base
	Name  string         `json:"name"`
	N     int            `json:"n"`
	Small int8           `json:"small"`
	F     float64        `json:"f"`
	B     bool           `json:"b"`
	Data  []byte         `json:"data"`
	List  []inner        `json:"list"`
	Pair  [2]int         `json:"pair"`
	Table map[string]int `json:"table"`
	At    time.Time      `json:"at"`
	Any   any            `json:"any"`
	Meta  struct {
		In struct {
			Deep []string `json:"deep"`
		} `json:"in"`
	} `json:"_meta"`
	Plain  int
	Needed *bool `json:"needed" need:"value"`
	//lint:ignore U1000 the decoder must skip it
	hidden int
	Never  int `json:"-"`
}

func TestErrorsNameThePath(t *testing.T) {
	for raw, want := range map[string]string{
		`[]`:                                    `params: must be an object`,
		`5`:                                     `params: must be an object`,
		`{"id":`:                                `params: must be valid JSON`,
		`{"needed":true}`:                       `params.id is missing`,
		`{"id":null,"needed":true}`:             `params.id is missing`,
		`{"id":"","needed":true}`:               `params.id: must not be empty`,
		`{"ID":"x","needed":true}`:              `params.id is missing`,
		`{"id":"x"}`:                            `params.needed is missing`,
		`{"id":5}`:                              `params.id: must be a string`,
		`{"n":"5"}`:                             `params.n: must be a whole number`,
		`{"n":1.5}`:                             `params.n: must be a whole number`,
		`{"n":1e400}`:                           `params.n: must be a whole number`,
		`{"n":9223372036854775808}`:             `params.n: must be a whole number from -9007199254740991 to 9007199254740991`,
		`{"n":9007199254740992}`:                `params.n: must be a whole number from -9007199254740991 to 9007199254740991`,
		`{"small":200}`:                         `params.small: must be a whole number from -127 to 127`,
		`{"f":"1"}`:                             `params.f: must be a number`,
		`{"f":1e400}`:                           `params.f: must be a number`,
		`{"f":[1]}`:                             `params.f: must be a number`,
		`{"b":1}`:                               `params.b: must be true or false`,
		`{"data":"a b"}`:                        `params.data: must be base64 text`,
		`{"data":5}`:                            `params.data: must be base64 text`,
		`{"data":"data:image/png;base64,aGk="}`: `params.data: must be base64 text, not a data: URL`,
		`{"list":{}}`:                           `params.list: must be a list`,
		`{"list":[{"text":"a"},5]}`:             `params.list[1]: must be an object`,
		`{"list":[{"again":[{},{"text":[]}]}]}`: `params.list[0].again[1].text: must be a string`,
		`{"pair":[1]}`:                          `params.pair: must be a list of 2 elements`,
		`{"table":{"a b":"x"}}`:                 `params.table.a b: must be a whole number`,
		`{"at":"yesterday"}`:                    `params.at: must be a time as of RFC 3339`,
		`{"at":5}`:                              `params.at: must be a time as of RFC 3339`,
		`{"_meta":{"in":{"deep":["a",true]}}}`:  `params._meta.in.deep[1]: must be a string`,
		`{"_meta":{"in":7}}`:                    `params._meta.in: must be an object`,
		`{"more":[{"x":"}"}],"id":{}}`:          `params.id: must be a string`,
		`{"id":"x","id":7,"needed":true}`:       `params.id: must be a string`,
		`{"Plain":"x"}`:                         `params.Plain: must be a whole number`,
		`{"id":"\"\\","needed":{},"b":"x"}`:     `params.needed: must be true or false`,
		"{\"n\" :\t7 , \"b\"\n: \"x\" ,\"f\": 1}": `params.b: must be true or false`,
	} {
		err := Decode([]byte(raw), "params", &outer{})
		if fault, ok := errors.AsType[*Error](err); !ok || fault.Error() != want {
			t.Errorf("%s: %v, want %q", raw, err, want)
		}
	}
}

func TestValues(t *testing.T) {
	raw := ` { "id" : "é\n\ud83d\ude00" , "name":"outer","Name":"x","n":-7,"f":2.5,"b":true,"data":"aG\/p","Plain":3,
		"list":[ {"text":"t","raw": {"a":[1,"]"]} } , {"again":[]} ],"pair":[1,2],"table":{"a":1,"A":2},"at":"2026-01-05T12:00:00Z",
		"any":{"k":[1]},"_meta":{"in":{"deep":["d"]}},"needed":false,"unknown":{"id":"no"},"hidden":1,"Never":1,"-":1} `
	var got, want outer
	if err := Decode([]byte(raw), "params", &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(raw), &want); err != nil {
		t.Fatal(err)
	}
	want.Name = "outer" // encoding/json takes Name too
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(outer{}, base{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNullIsMissing(t *testing.T) {
	raw := `{"id":"x","needed":true,"name":null,"n":null,"f":null,"b":null,"data":null,"list":null,"pair":null,"table":null,"at":null,"any":null,"_meta":null}`
	var got outer
	if err := Decode([]byte(raw), "params", &got); err != nil {
		t.Fatal(err)
	}
	yes := true
	if diff := cmp.Diff(outer{base: base{ID: "x"}, Needed: &yes}, got, cmp.AllowUnexported(outer{}, base{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// For input without repeated names, or names in another letter case, the result is that of encoding/json.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{"id":"x","needed":true,"list":[{"raw":[1,{"a":"\\\""}]}],"table":{"":0},"f":-1.5e3,"any":[null,"a"]}`,
		`{"at":"2026-01-05T12:00:00+02:00","data":"aGk=","pair":[1,2],"small":-128}`, `{"data":"data:x"}`, `[`, `null`, `{"":{"":[]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var got outer
		err := Decode(raw, "params", &got)
		if err == nil && !json.Valid(raw) {
			t.Fatal("invalid JSON is accepted")
		}
		if fault, ok := errors.AsType[*Error](err); err != nil && (!ok || fault.Want == "" || fault.Path == "") {
			t.Fatalf("error %v", err)
		}
		if err != nil || got.ID == "" {
			return
		}
		// Of its own encoding it makes the same value.
		again, err := json.Marshal(got)
		if err != nil {
			return // a time or a number that JSON cannot hold
		}
		var second outer
		if err := Decode(again, "params", &second); err != nil {
			t.Fatalf("%s: %v", again, err)
		}
		third, _ := json.Marshal(second)
		if string(again) != string(third) {
			t.Fatalf("%s becomes %s", again, third)
		}
	})
}
