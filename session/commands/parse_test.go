package commands

import (
	"slices"
	"strings"
	"testing"

	"strata/history"
)

func text(s string) history.Block { return history.Block{Type: history.BlockText, Text: s} }

func TestParseFindsCommands(t *testing.T) {
	link := history.Block{Type: history.BlockLink, URI: "file:///w/a.go"}
	embedded := history.Block{Type: history.BlockResource, URI: "file:///w/b.go", Text: "b"}
	for name, tt := range map[string]struct {
		blocks []history.Block
		want   Call
	}{
		"alone":               {[]history.Block{text("/help")}, Call{Name: "help"}},
		"with arguments":      {[]history.Block{text("/rename  Two words \n")}, Call{Name: "rename", Arguments: "Two words"}},
		"with lines":          {[]history.Block{text("/review\nthis\nand that")}, Call{Name: "review", Arguments: "this\nand that"}},
		"after a tab":         {[]history.Block{text("/add\ta.go")}, Call{Name: "add", Arguments: "a.go"}},
		"with resources":      {[]history.Block{text("/add "), link, embedded}, Call{Name: "add", Links: []string{link.URI, embedded.URI}}},
		"behind a resource":   {[]history.Block{link, text("/add")}, Call{Name: "add", Links: []string{link.URI}, block: 1}},
		"digits and dashes":   {[]history.Block{text("/2-do_it")}, Call{Name: "2-do_it"}},
		"name of the maximum": {[]history.Block{text("/" + strings.Repeat("a", MaxName))}, Call{Name: strings.Repeat("a", MaxName)}},
	} {
		t.Run(name, func(t *testing.T) {
			got, ok := Parse(tt.blocks)
			if !ok || got.Name != tt.want.Name || got.Arguments != tt.want.Arguments || got.block != tt.want.block || !slices.Equal(got.Links, tt.want.Links) {
				t.Errorf("got %+v, %t, want %+v", got, ok, tt.want)
			}
		})
	}
}

func TestParseLeavesOtherPrompts(t *testing.T) {
	for _, prompt := range []string{
		"", "/", "/ help", "help", " /help", "\n/help", "//help", "/files/app.log", "/files:1", "/^a.*$/ is a regexp", "/-x", "/_x",
		"/añadir", "/help\u00a0me", "/help\x00", "/" + strings.Repeat("a", MaxName+1), "/usr/bin", "／help",
	} {
		if call, ok := Parse([]history.Block{text(prompt)}); ok {
			t.Errorf("%q is the command %+v", prompt, call)
		}
	}
	if call, ok := Parse([]history.Block{text("Look:"), text("/help")}); ok {
		t.Errorf("a later block is the command %+v", call)
	}
	if call, ok := Parse(nil); ok {
		t.Errorf("nothing is the command %+v", call)
	}
}

func TestReplaceKeepsTheOtherBlocks(t *testing.T) {
	blocks := []history.Block{{Type: history.BlockLink, URI: "file:///w/a.go"}, text("/review x"), text("more")}
	call, _ := Parse(blocks)
	got := call.Replace(blocks, "Review x.")
	if got[0].URI != blocks[0].URI || got[1].Text != "Review x." || got[2].Text != "more" || blocks[1].Text != "/review x" {
		t.Errorf("got %+v from %+v", got, blocks)
	}
}

func TestWords(t *testing.T) {
	for arguments, want := range map[string][]string{
		"":                       nil,
		" \t\n":                  nil,
		"a.go":                   {"a.go"},
		" a.go\tb.go\nc.go ":     {"a.go", "b.go", "c.go"},
		`"two words.go" it's' x`: {"two words.go", "its", "x"},
		`a"b c"d ''`:             {"ab cd", ""},
		`C:\x\y.go`:              {`C:\x\y.go`},
	} {
		if got, err := Words(arguments); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: got %q, error %v, want %q", arguments, got, err, want)
		}
	}
	for _, open := range []string{`"a`, `a 'b`, `'"`} {
		if got, err := Words(open); err == nil {
			t.Errorf("%q: got %q, want an error", open, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"/help", "/add a.go 'b c'", "/files/app.log", "/\xff", "/a\u2028b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, prompt string) {
		call, ok := Parse([]history.Block{text(prompt)})
		if !ok {
			if call.Name != "" || IsBuiltin(strings.TrimPrefix(prompt, "/")) && strings.HasPrefix(prompt, "/") {
				t.Errorf("%q: no command, got %+v", prompt, call)
			}
			return
		}
		rest, found := strings.CutPrefix(prompt, "/"+call.Name)
		if !found || rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n") || strings.TrimSpace(rest) != call.Arguments || !isName(call.Name) {
			t.Errorf("%q is the command %+v", prompt, call)
		}
		words, err := Words(call.Arguments)
		if total := len(strings.Join(words, "")); err == nil && total > 3*len(call.Arguments) {
			t.Errorf("%d bytes of words in %d of arguments", total, len(call.Arguments))
		}
	})
}
