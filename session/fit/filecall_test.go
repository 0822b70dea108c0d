package fit

import "testing"

func TestFileCalls(t *testing.T) {
	for _, tt := range []struct {
		name, args string
		want       fileCall
		ok         bool
	}{
		{"read_file", `{"path":"a.go"}`, fileCall{path: "a.go"}, true},
		{"readFile", `{"file_path":"a.go","explanation":"to see"}`, fileCall{path: "a.go"}, true},
		{"fs.Read", `{"uri":"file:///w/a.go"}`, fileCall{path: "file:///w/a.go"}, true},
		{"str_replace_editor", `{"command":"view","path":"a.go"}`, fileCall{path: "a.go"}, true},
		{"write_file", `{"path":"a.go","content":"x"}`, fileCall{path: "a.go", text: "content"}, true},
		{"str_replace_editor", `{"command":"create","path":"a.go","file_text":"x"}`, fileCall{path: "a.go", text: "file_text"}, true},

		{"read_file", `{"path":"a.go","offset":10}`, fileCall{}, false},
		{"str_replace_editor", `{"command":"view","path":"a.go","view_range":[1,5]}`, fileCall{}, false},
		{"append_to_file", `{"path":"a.go","content":"x"}`, fileCall{}, false},
		{"str_replace_editor", `{"command":"insert","path":"a.go","file_text":"x"}`, fileCall{}, false},
		{"spread", `{"path":"a.go"}`, fileCall{}, false},
		{"list", `{"path":"a"}`, fileCall{}, false},
		{"read_file", `{"path":7}`, fileCall{}, false},
		{"read_file", `{}`, fileCall{}, false},
		{"read_file", `{"path":"a.go"`, fileCall{}, false},
		{"read_file", `[]`, fileCall{}, false},
	} {
		c, ok := fileCallOf(tt.name, tt.args)
		if ok != tt.ok || ok && c != tt.want {
			t.Errorf("%s %s: %+v, %v", tt.name, tt.args, c, ok)
		}
	}
}
