package plainjson

import (
	"encoding/json"
	"strings"
	"testing"
)

// texts are seeds with every kind of character, at every offset within a word of eight bytes.
func texts() []string {
	all := []string{
		"", "plain", "\x00\x01\x08\t\n\x0b\f\r\x1b\x1f\x7f", `quote " and \ and /`, "<a href='x'>&amp;</a>", "\u2028\u2029\u2027\u202a",
		"\xff", "a\xc3", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x80", "\ufffd", "пример 例 😀", strings.Repeat("long text, ", 9000),
		`{"a":"b"}`, `\u0041`, "ends in \xe2\x80\xa8",
	}
	for _, special := range []string{`"`, `\`, "<", "\n", "\x00", "\x80", "é", "\u2028", "😀"} {
		for i := range 17 {
			all = append(all, strings.Repeat("x", i)+special+strings.Repeat("y", 17-i))
		}
	}
	return all
}

func FuzzStringsAreWrittenAsByEncodingJSON(f *testing.F) {
	for _, text := range texts() {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		want, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString([]byte("before"), text); string(got) != "before"+string(want) {
			t.Fatalf("%q is written as\n%s, by encoding/json as\n%s", text, got[len("before"):], want)
		}
	})
}

func FuzzTextsAreReadAsByEncodingJSON(f *testing.F) {
	for _, text := range texts() {
		quoted, err := json.Marshal(text)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(quoted))
		f.Add(`"` + text + `"`)
	}
	for _, quoted := range []string{`"\ud83d\ude00"`, `"\ud83d"`, `"\u12"`, `"\x"`, `"`, `"\`, `"a" `, ` "a"`, `"\/\b\u00e9\u00E9"`, `"\uD7FF"`, `""x`} {
		f.Add(quoted)
	}
	f.Fuzz(func(t *testing.T, quoted string) {
		fromString := Reader[string]{Rest: quoted}
		text, ok := fromString.Text()
		ok = ok && fromString.Ended()
		fromBytes := Reader[[]byte]{Rest: []byte(quoted)}
		same, alsoOK := fromBytes.Text()
		if alsoOK = alsoOK && fromBytes.Ended(); ok != alsoOK || ok && text != same {
			t.Fatalf("%q is read as %q, %v from a string, and as %q, %v from bytes", quoted, text, ok, same, alsoOK)
		}
		var want string
		err := json.Unmarshal([]byte(quoted), &want)
		if ok && (err != nil || text != want) {
			t.Fatalf("%q is read as %q, by encoding/json as %q, %v", quoted, text, want, err)
		}
		if written, _ := json.Marshal(want); !ok && err == nil && string(written) == quoted {
			t.Fatalf("%q is refused", quoted)
		}
	})
}

func TestFormsThatAReaderExpects(t *testing.T) {
	read := func(in string) (got []string, ok bool) {
		r := Reader[string]{Rest: in}
		ok = r.Object([]string{"n", "flag", "list", "none"}, func(name string) bool {
			got = append(got, name)
			switch name {
			case "n":
				_, ok := r.Number()
				return ok
			case "flag":
				return r.True()
			case "list":
				return r.Array(func() bool { return r.Word("x") })
			}
			return r.Null()
		})
		return got, ok && r.Ended()
	}
	for in, want := range map[string]string{
		`{"n":1}`: "n", ` { "n" : 10 , "flag" : true } `: "n flag", `{"list":["x","x"],"none":null}`: "list none", `{"n":0}`: "n",
	} {
		if got, ok := read(in); !ok || strings.Join(got, " ") != want {
			t.Errorf("%s is read as %v, %v", in, got, ok)
		}
	}
	for _, in := range []string{
		``, `{`, `{}`, `{"n":1`, `{"n":1,}`, `{"n":1}x`, `{"n":1,"n":1}`, `{"N":1}`, `{"m":1}`, `{"n":01}`, `{"n":1.5}`, `{"n":-1}`, `{"n":1e3}`,
		`{"n":1234567890123456789}`, `{"flag":tru}`, `{"flag":false}`, `{"list":[]}`, `{"list":["x"}`, `{"list":["x",]}`, `{"none":nul`, `{"n"1}`, `["n"]`,
	} {
		if _, ok := read(in); ok {
			t.Errorf("%s is accepted", in)
		}
	}
}

func BenchmarkAppendString(b *testing.B) {
	for name, text := range map[string]string{"ascii": strings.Repeat("message 1 of many. ", 50), "code": strings.Repeat("if a < b {\n\t\"x\"\n}", 50), "cyrillic": strings.Repeat("пример ", 70)} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var buf []byte
			for b.Loop() {
				buf = AppendString(buf[:0], text)
			}
		})
		b.Run(name+" by encoding/json", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				if _, err := json.Marshal(text); err != nil {
					b.Fatal(err)
				}
			}
		})
		quoted := string(AppendString(nil, text))
		b.Run(name+" read", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			var r Reader[string]
			for b.Loop() {
				r.Rest = quoted
				if _, ok := r.Text(); !ok {
					b.Fatal("refused")
				}
			}
		})
		b.Run(name+" read by encoding/json", func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				var text string
				if err := json.Unmarshal([]byte(quoted), &text); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
