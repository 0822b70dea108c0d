package editor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"strata/session/clients"
)

// Results about the files of a client, as they are and as they must not be.
func TestResultsAboutFiles(t *testing.T) {
	list := func(raw string) string { return said(WorkspacePage(json.RawMessage(raw))) }
	texts := func(raw string) string { return files(FilesRead(false)(json.RawMessage(raw))) }
	data := func(raw string) string { return files(FilesRead(true)(json.RawMessage(raw))) }
	for name, test := range map[string]struct {
		read func(string) string
		raw  string
		want string
	}{
		"a page":           {list, `{"files":[{"path":"a"}],"version":"1","nextCursor":"2"}`, `"Path":"a"`},
		"changes":          {list, `{"changes":true,"files":[],"removed":["b"]}`, `"Removed":["b"]`},
		"unchanged":        {list, `{"unchanged":true}`, `"Unchanged":true`},
		"nothing":          {list, `{}`, "error"},
		"null":             {list, `null`, "error"},
		"files as a text":  {list, `{"files":"a"}`, "error"},
		"a path as number": {list, `{"files":[{"path":7}]}`, "error"},
		"a size as text":   {list, `{"files":[{"path":"a","size":"1"}]}`, "error"},
		"a size too large": {list, `{"files":[{"path":"a","size":1e30}]}`, "error"},
		"removed as text":  {list, `{"changes":true,"files":[],"removed":"b"}`, "error"},
		"too many files":   {list, `{"files":[` + strings.Repeat(`{"path":"a"},`, 1_000_000) + `{"path":"a"}]}`, "exceeds the limit"},

		"a text":            {texts, `{"files":[{"path":"a","content":"","version":"1"}]}`, `a "" 1`},
		"an error":          {texts, `{"files":[{"path":"a","error":{"code":-32002,"message":"no"}}]}`, `a the editor responded: no (code -32002)`},
		"neither":           {texts, `{"files":[{"path":"a"}]}`, "error"},
		"no files":          {texts, `{}`, "error"},
		"data for a text":   {texts, `{"files":[{"path":"a","data":"YQ=="}]}`, "error"},
		"a number as text":  {texts, `{"files":[{"path":"a","content":7}]}`, "error"},
		"an error as text":  {texts, `{"files":[{"path":"a","error":"no"}]}`, "error"},
		"bytes":             {data, `{"files":[{"path":"a","data":"YWI="}]}`, `a "ab" `},
		"a text for bytes":  {data, `{"files":[{"path":"a","content":"a"}]}`, "error"},
		"what is no base64": {data, `{"files":[{"path":"a","data":"a b"}]}`, "error"},
	} {
		if got := test.read(test.raw); !strings.Contains(got, test.want) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// files returns files as a text.
func files(all []clients.ReadResult, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	text := ""
	for _, f := range all {
		if f.Err != nil {
			text += fmt.Sprintf("%s %v", f.Path, f.Err)
		} else {
			text += fmt.Sprintf("%s %q %s", f.Path, f.Data, f.Version)
		}
	}
	return text
}

func FuzzResultsAboutFiles(f *testing.F) {
	f.Add([]byte(`{"files":[{"path":"a","content":"b","data":"YQ=="}],"changes":true,"removed":["c"]}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		_, _ = WorkspacePage(raw)
		for _, binary := range []bool{false, true} {
			all, _ := FilesRead(binary)(raw)
			for _, one := range all {
				if one.Err == nil && one.Data == nil {
					t.Errorf("%s has neither data nor an error", one.Path)
				}
			}
		}
	})
}
