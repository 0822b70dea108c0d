package client_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The examples in docs/protocol.md are compiled as constants with the types of src/protocol.ts. This fails if an example
// has a field, method, event or update that the types lack, or lacks a required one.
const protocolDoc = "../../docs/protocol.md"

var jsonBlock = regexp.MustCompile("(?s)```json\n(.*?)```\n")

// frame is the used part of an example.
type frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// serverRequests are the requests of the server to clients.
var serverRequests = map[string]bool{
	"_strata/workspace/list": true, "_strata/workspace/read": true, "_strata/workspace/delete": true, "_strata/workspace/move": true,
	"fs/read_text_file": true, "fs/write_text_file": true, "session/request_permission": true, "_strata/tool/call": true,
	"terminal/create": true, "terminal/output": true, "terminal/wait_for_exit": true, "terminal/kill": true, "terminal/release": true,
}

// clientNotifications are the notifications of clients, which look like those of the server.
var clientNotifications = map[string]bool{"session/cancel": true, "$/cancel_request": true}

func writeExamples(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(protocolDoc)
	if err != nil {
		t.Fatal(err)
	}
	var module strings.Builder
	module.WriteString("import type { ClientNotifications, Methods, RpcErrorObject, ServerNotifications, ServerRequests } from '../src/index.js';\n")
	asked := make(map[string]string) // type of the method by id
	for _, at := range jsonBlock.FindAllSubmatchIndex(text, -1) {
		var f frame
		if err := json.Unmarshal(text[at[2]:at[3]], &f); err != nil {
			t.Fatalf("%s: %v", protocolDoc, err)
		}
		line := 1 + strings.Count(string(text[:at[2]]), "\n")
		kind, value := example(f, asked)
		if kind == "" {
			t.Errorf("%s:%d: neither a request, a response nor a notification", protocolDoc, line)
			continue
		}
		fmt.Fprintf(&module, "export const line%d: %s = %s;\n", line, kind, value)
	}
	if err := os.WriteFile(filepath.Join(dir, "protocol-examples.ts"), []byte(module.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}

// example returns the type of an example and the value of this type.
func example(f frame, asked map[string]string) (kind string, value json.RawMessage) {
	id := string(f.ID)
	switch {
	case f.Method != "" && id != "":
		asked[id] = fmt.Sprintf("Methods['%s']", f.Method)
		if serverRequests[f.Method] {
			asked[id] = fmt.Sprintf("ServerRequests['%s']", f.Method)
		}
		return asked[id] + "['params']", f.Params
	case f.Method != "" && clientNotifications[f.Method]:
		return fmt.Sprintf("ClientNotifications['%s']", f.Method), f.Params
	case f.Method != "":
		return fmt.Sprintf("ServerNotifications['%s']", f.Method), f.Params
	case f.Error != nil:
		return "RpcErrorObject", f.Error
	case asked[id] != "" && f.Result != nil:
		return asked[id] + "['result']", f.Result
	}
	return "", nil
}
