package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/session/servers"
)

// decodeServers decodes the servers of session/new.
func decodeServers(list string) ([]servers.Definition, error) {
	var p NewSessionParams
	err := Decode(json.RawMessage(`{"cwd":"/work","mcpServers":`+list+`}`), &p)
	return p.MCPServers, err
}

func TestMCPServersAsACPHasThem(t *testing.T) {
	for list, want := range map[string][]servers.Definition{
		`null`: nil,
		`[]`:   nil,
		`[{"name":"files","command":"/bin/files","args":["--root","."],"env":[{"name":"A","value":"x=y"},{"name":"B","value":""}]}]`: {
			{Name: "files", Command: "/bin/files", Args: []string{"--root", "."}, Env: []string{"A=x=y", "B="}},
		},
		`[{"type":"stdio","name":"npx","command":"npx"},{"type":"http","name":"web","url":"https://example.org/mcp","headers":[{"name":"Authorization","value":"Bearer x"}]}]`: {
			{Name: "npx", Command: "npx"},
			{Name: "web", URL: "https://example.org/mcp", Headers: []servers.Header{{Name: "Authorization", Value: "Bearer x"}}},
		},
	} {
		got, err := decodeServers(list)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", list, err, diff)
		}
	}
}

func TestWrongMCPServers(t *testing.T) {
	const secret = "s3cret"
	entry := func(format string, args ...any) string { return "[" + fmt.Sprintf(format, args...) + "]" }
	many := func(n int, format string) string {
		all := make([]string, n)
		for i := range all {
			all[i] = strings.ReplaceAll(format, "N", fmt.Sprint(i))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for list, want := range map[string]string{
		`{}`:                                ": must be a list",
		`[7]`:                               "[0]: must be an object",
		`[null]`:                            "[0].name is missing",
		`[{"command":"/x"}]`:                "[0].name is missing",
		entry(`{"name":"","command":"/x"}`): "[0].name: must not be empty",
		entry(`{"name":"a\u0000b","command":"/x"}`):                                                                "[0].name: must not contain control characters",
		entry(`{"name":"%s"}`, strings.Repeat("x", 129)):                                                           "[0].name: 129 bytes exceeds the limit of 128",
		entry(`{"name":"a"}`):                                                                                      "[0].command is missing",
		entry(`{"name":"a","command":7}`):                                                                          "[0].command: must be a string",
		entry(`{"name":"a","command":"/x\ny"}`):                                                                    "[0].command: must not contain control characters",
		entry(`{"name":"a","command":"%s"}`, strings.Repeat("x", 4097)):                                            "[0].command: 4097 bytes exceeds the limit of 4096",
		entry(`{"name":"a","command":"/x","args":"y"}`):                                                            "[0].args: must be a list",
		entry(`{"name":"a","command":"/x","args":["y","z\u0000"]}`):                                                "[0].args[1]: must not contain NUL",
		entry(`{"name":"a","command":"/x","env":{"A":"%s"}}`, secret):                                              "[0].env: must be a list",
		entry(`{"name":"a","command":"/x","env":[{"value":"%s"}]}`, secret):                                        "[0].env[0].name is missing",
		entry(`{"name":"a","command":"/x","env":[null]}`):                                                          "[0].env[0].name is missing",
		entry(`{"name":"a","command":"/x","env":[{"name":"A=B","value":"%s"}]}`, secret):                           "[0].env[0].name: must contain neither = nor NUL",
		entry(`{"name":"a","command":"/x","env":[{"name":"A","value":"%s\u0000"}]}`, secret):                       "[0].env[0].value: must not contain NUL",
		entry(`{"name":"a","command":"/x","args":["%s"]}`, strings.Repeat("x", maxServer+1)):                       "[0]: 262145 bytes exceeds the limit of 262144",
		entry(`{"name":"a","command":"/x","args":%s}`, many(maxEntries+1, `""`)):                                   "[0].args: 1025 entries exceeds the limit of 1024",
		entry(`{"name":"a","command":"/x","env":%s}`, many(maxEntries+1, `{"name":"A"}`)):                          "[0].env: 1025 entries exceeds the limit of 1024",
		entry(`{"name":"a","type":"sse","url":"https://x"}`):                                                       "[0].type: sse is not supported: use stdio or http",
		entry(`{"name":"a","type":"acp"}`):                                                                         `[0].type: "acp" is unknown; the types are stdio and http`,
		entry(`{"name":"a","type":"http"}`):                                                                        "[0].url is missing",
		entry(`{"name":"a","type":"http","url":"ftp://x"}`):                                                        "[0].url: must be an address with http or https",
		entry(`{"name":"a","type":"http","url":"https://"}`):                                                       "[0].url: must be an address with http or https",
		entry(`{"name":"a","type":"http","url":"http://[x"}`):                                                      "[0].url: must be an address with http or https",
		entry(`{"name":"a","type":"http","url":"http://x","headers":[{"name":"A B","value":"%s"}]}`, secret):       "[0].headers[0].name: must be the name of a header",
		entry(`{"name":"a","type":"http","url":"http://x","headers":[{"name":"A","value":"%s\r\nB: c"}]}`, secret): "[0].headers[0].value: must not contain control characters",
		`[{"name":"a","command":"/x"},{"name":"a","command":"/y"}]`:                                                "[1].name: a names two servers",
		many(servers.MaxNamed+1, `{"name":"N","command":"/x"}`):                                                    ": 33 servers exceeds the limit of 32",
	} {
		_, err := decodeServers(list)
		if err == nil || !strings.HasSuffix(err.Error(), "params.mcpServers"+want+" (code -32602)") {
			t.Errorf("%.80s: %v, want %s", list, err, want)
		}
		if err != nil && strings.Contains(err.Error(), secret) {
			t.Errorf("%.80s: the error has a value: %v", list, err)
		}
	}
	if all, err := decodeServers(many(servers.MaxNamed, `{"name":"N","command":"/x"}`)); err != nil || len(all) != servers.MaxNamed {
		t.Errorf("as many as may: %d, %v", len(all), err)
	}
}

// FuzzMCPServers checks that no list makes a server without a program or an address, or two of one name.
func FuzzMCPServers(f *testing.F) {
	f.Add(`[{"name":"files","command":"/bin/files","args":["--root"],"env":[{"name":"A","value":"x"}]}]`)
	f.Add(`[{"type":"http","name":"web","url":"https://example.org/mcp","headers":[{"name":"A","value":"b"}]},null]`)
	f.Fuzz(func(t *testing.T, list string) {
		if !json.Valid([]byte(list)) {
			return
		}
		all, err := decodeServers(list)
		if err != nil {
			return
		}
		names := make(map[string]bool)
		for _, d := range all {
			if d.Name == "" || names[d.Name] || (d.Command == "") == (d.URL == "") || d.Trusted {
				t.Fatalf("%+v", d)
			}
			names[d.Name] = true
		}
	})
}

func TestMCPServersInTheInfo(t *testing.T) {
	list := []servers.Listed{
		{Definition: servers.Definition{Name: "db", Command: "/bin/db", Env: []string{"KEY=s3cret"}}, Origin: servers.FromConfig, State: servers.State{Status: servers.Unused}},
		{
			Definition: servers.Definition{Name: "web", URL: "https://example.org?key=s3cret", Headers: []servers.Header{{Name: "A", Value: "s3cret"}}},
			Origin:     servers.FromClient, Sessions: 2,
			State: servers.State{Status: servers.Failed, Error: strings.Repeat("x", maxMCPError+1), Tools: []servers.Tool{{Name: "get", Title: "Get", Description: "Gets"}, {Name: "put"}}},
		},
	}
	got := encoded(t, NewMCPServers(list))
	want := `[{"name":"db","transport":"stdio","source":"config","state":"unused","sessions":0,"tools":[]},` +
		`{"name":"web","transport":"http","source":"client","state":"failed","error":"` + strings.Repeat("x", maxMCPError) + `","sessions":2,` +
		`"tools":[{"name":"get","title":"Get","description":"Gets"},{"name":"put"}]}]`
	if got != want {
		t.Errorf("got %s", got)
	}
	if got := encoded(t, NewMCPServers(nil)); got != "[]" {
		t.Errorf("none: %s", got)
	}
}
