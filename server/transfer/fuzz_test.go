package transfer

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"strata/history"
	"strata/internal/exact"
	"strata/rpc"
)

// FuzzImport imports a header with lines that can be anything. They are refused with a reason for the client, or make a
// session that can be read, exported and imported again.
func FuzzImport(f *testing.F) {
	for _, lines := range [][]Line{
		firstLines(words(1, "hello"))[1:],
		firstLines(words(1, "go"), called(2, "c1"), answered(3, "c1"))[1:],
		append([]Line{restored(3, 1)}, firstLines(words(1, "go"), words(2, "on"))[1:]...),
		{{Type: "file", File: &File{Path: "a.go", State: json.RawMessage(`{}`), Buffer: []byte("text")}}},
		{{Type: "call", Call: &history.Call{ID: "call_1", Purpose: history.PurposeTurn, Usage: history.Usage{Input: 1}}}},
	} {
		var seed []string
		for i := range lines {
			raw, err := json.Marshal(lines[i])
			if err != nil {
				f.Fatal(err)
			}
			seed = append(seed, string(raw))
		}
		f.Add(strings.Join(seed, "\n"))
	}
	f.Add(`{"type":"message"}`)
	f.Add(`{"type":"call","call":{"usage":{"input":9223372036854775807}}}`)
	in := newTestImporter(f)
	header, err := json.Marshal(firstLines()[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		raw := bytes.Join([][]byte{header, []byte(text)}, []byte("\n"))
		page := ImportPage{Done: true}
		for line := range bytes.SplitSeq(raw, []byte("\n")) {
			var l Line
			if exact.Decode(line, "", &l) != nil {
				return // refused before it comes here
			}
			page.Lines = append(page.Lines, l)
		}
		result, err := in.Import(t.Context(), page)
		if err != nil {
			if fault, ok := errors.AsType[*rpc.Error](err); !ok || fault.Code != rpc.CodeInvalidParams {
				t.Fatalf("refused with %v", err)
			}
			return
		}
		var again ImportPage
		for cursor := ""; ; {
			exported, err := Export(t.Context(), in.Options.Store, result.SessionID, cursor)
			if err != nil {
				t.Fatalf("the imported session cannot be exported: %v", err)
			}
			again.Lines = append(again.Lines, exported.Lines...)
			if cursor = exported.NextCursor; cursor == "" {
				break
			}
		}
		again.Done = true
		if _, err := in.Import(t.Context(), again); err != nil {
			t.Fatalf("the exported session cannot be imported: %v", err)
		}
	})
}
