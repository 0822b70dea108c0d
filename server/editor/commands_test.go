package editor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/session/clients"
)

// said returns a value and an error as one text: of both there is one.
func said[T any](value T, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	raw, err := json.Marshal(value)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func TestResultsAboutTerminals(t *testing.T) {
	create := func(raw string) string { return said(CreatedTerminal(json.RawMessage(raw))) }
	output := func(raw string) string { return said(TerminalOutput(json.RawMessage(raw))) }
	exit := func(raw string) string { return said(CommandExit(json.RawMessage(raw))) }
	const wantCode = "exitCode: must be a whole number from 0 to 4294967295"
	for _, tt := range []struct {
		decode    func(string) string
		raw, want string
	}{
		{create, `{"terminalId":"t 1/\u0000","more":1}`, `"t 1/\u0000"`},
		{create, `{}`, "error: result.terminalId is missing"},
		{create, `null`, "error: result.terminalId is missing"},
		{create, `{"terminalId":null}`, "error: result.terminalId is missing"},
		{create, `{"terminalId":""}`, "error: result.terminalId: must not be empty"},
		{create, `{"terminalId":7}`, "error: result.terminalId: must be a string"},
		{create, `{"TerminalID":"t"}`, "error: result.terminalId is missing"},
		{create, `["t"]`, "error: result: must be an object"},
		{create, `{"terminalId":"` + strings.Repeat("t", 1025) + `"}`, "error: result.terminalId: 1025 bytes exceeds the limit of 1024"},

		{output, `{"output":"a","truncated":false}`, `{"Text":"a","Truncated":false,"Exit":null}`},
		{output, `{"output":"","truncated":true,"exitStatus":null}`, `{"Text":"","Truncated":true,"Exit":null}`},
		{output, `{"output":"a","truncated":true,"exitStatus":{"exitCode":0}}`, `{"Text":"a","Truncated":true,"Exit":{"Code":0,"Signal":""}}`},
		{output, `{"output":"a","truncated":true,"exitStatus":{}}`, `{"Text":"a","Truncated":true,"Exit":{"Code":null,"Signal":""}}`},
		{output, `{"output":"a","truncated":true,"exitStatus":{"exitCode":-1}}`, "error: result.exitStatus." + wantCode},
		{output, `{"output":"a","truncated":true,"exitStatus":7}`, "error: result.exitStatus: must be an object"},
		{output, `{"output":"a"}`, "error: result.truncated is missing"},
		{output, `{"truncated":false}`, "error: result.output is missing"},
		{output, `{"output":null,"truncated":false}`, "error: result.output is missing"},
		{output, `null`, "error: result.output is missing"},
		{output, `{"output":["a"],"truncated":false}`, "error: result.output: must be a string"},
		{output, `{"output":"a","truncated":"no"}`, "error: result.truncated: must be true or false"},
		{output, `{"output":"` + strings.Repeat("x", 20<<20) + `","truncated":false}`, "error: 20971551 bytes exceeds the limit of 8388608"},

		{exit, `{"exitCode":0,"signal":null}`, `{"Code":0,"Signal":""}`},
		{exit, `{"exitCode":4294967295}`, `{"Code":4294967295,"Signal":""}`},
		{exit, `{"exitCode":null,"signal":"SIGKILL"}`, `{"Code":null,"Signal":"SIGKILL"}`},
		{exit, `{}`, `{"Code":null,"Signal":""}`},
		{exit, `null`, `{"Code":null,"Signal":""}`},
		{exit, `{"exitCode":4294967296}`, "error: result." + wantCode},
		{exit, `{"exitCode":-1}`, "error: result." + wantCode},
		{exit, `{"exitCode":1e3}`, "error: result.exitCode: must be a whole number"},
		{exit, `{"exitCode":1.5}`, "error: result.exitCode: must be a whole number"},
		{exit, `{"exitCode":"0"}`, "error: result.exitCode: must be a whole number"},
		{exit, `{"exitCode":99999999999999999999}`, "error: result.exitCode: must be a whole number from -9007199254740991 to 9007199254740991"},
		{exit, `{"signal":9}`, "error: result.signal: must be a string"},
		{exit, `{"signal":"` + strings.Repeat("S", 100) + `"}`, fmt.Sprintf(`{"Code":null,"Signal":"%s"}`, strings.Repeat("S", 64))},
		{exit, `"done"`, "error: result: must be an object"},
	} {
		if got := tt.decode(tt.raw); got != tt.want {
			t.Errorf("%.80s: got %.200s, want %.200s", tt.raw, got, tt.want)
		}
	}
}

// FuzzResultsAboutTerminals checks that a result is refused in words, or keeps to its bounds.
func FuzzResultsAboutTerminals(f *testing.F) {
	for _, seed := range []string{
		`null`, `{"terminalId":"t"}`, `{"output":"a","truncated":true,"exitStatus":{"exitCode":1,"signal":"SIGINT"}}`, `{"exitCode":-1}`, `[{}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		check := func(exit *clients.Exit) {
			if exit != nil && (len(exit.Signal) > maxSignal || exit.Code != nil && (*exit.Code < 0 || *exit.Code > maxExitCode)) {
				t.Errorf("%+v", exit)
			}
		}
		if id, err := CreatedTerminal(raw); err == nil && (id == "" || len(id) > maxTerminalID) {
			t.Errorf("the terminal %q", id)
		}
		if out, err := TerminalOutput(raw); err == nil {
			check(out.Exit)
		}
		if exit, err := CommandExit(raw); err == nil {
			check(&exit)
		}
	})
}

func TestParametersOfACommand(t *testing.T) {
	for want, c := range map[string]clients.TerminalCommand{
		`{"sessionId":"s","command":"/bin/sh","args":["-c","echo <a>"],"env":[{"name":"PAGER","value":""}],"cwd":"/w","outputByteLimit":1048576}`: {
			Program: "/bin/sh", Args: []string{"-c", "echo <a>"}, Env: []clients.Variable{{Name: "PAGER"}}, Dir: "/w", Limit: 1 << 20,
		},
		`{"sessionId":"s","command":"true"}`: {Program: "true"},
	} {
		var raw strings.Builder
		encoder := json.NewEncoder(&raw)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(NewCreateTerminalParams("s", c)); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want+"\n", raw.String()); diff != "" {
			t.Error(diff)
		}
	}
}
