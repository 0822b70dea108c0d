package sessions

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"strata/rpc"
)

// answering is the stream of a client whose server answers each request at once.
type answering struct {
	answer func(method string, params json.RawMessage) any // the result
	frames chan []byte
	closed chan struct{}
}

func connected(t *testing.T, answer func(method string, params json.RawMessage) any) *rpc.Client {
	client := rpc.NewClient(&answering{answer, make(chan []byte, 10), make(chan struct{})}, nil)
	t.Cleanup(func() { client.Close() })
	return client
}

func (s *answering) WriteFrame(frame []byte) error {
	var request struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if err := json.Unmarshal(frame, &request); err != nil {
		return err
	}
	response, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": s.answer(request.Method, request.Params)})
	s.frames <- response
	return err
}

func (s *answering) ReadFrame(use func([]byte) error) error {
	select {
	case frame := <-s.frames:
		return use(frame)
	case <-s.closed:
		return io.EOF
	}
}

func (s *answering) Close(int, string) error {
	close(s.closed)
	return nil
}

// The server sends the newest page first; edits are shown oldest first.
func TestEditsAreShownOldestFirst(t *testing.T) {
	pages := map[string]string{
		"":  `{"edits":[{"seq":5},{"seq":6}],"nextCursor":"b"}`,
		"b": `{"edits":[{"seq":3},{"seq":4}],"nextCursor":"c"}`,
		"c": `{"edits":[{"seq":2}]}`,
	}
	client := connected(t, func(_ string, params json.RawMessage) any {
		var p struct{ Cursor string }
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		return json.RawMessage(pages[p.Cursor])
	})
	all, err := edits(t.Context(), client, "sess_1")
	var seqs []int
	for _, raw := range all {
		var e struct{ Seq int }
		if err := json.Unmarshal(raw, &e); err != nil {
			t.Error(err)
		}
		seqs = append(seqs, e.Seq)
	}
	if diff := cmp.Diff([]int{2, 3, 4, 5, 6}, seqs); err != nil || diff != "" {
		t.Errorf("%v, %s", err, diff)
	}
}

// Each page of an import is filled anew, in order, and only the last one says that it is the last.
func TestAnImportFillsItsPages(t *testing.T) {
	type page struct {
		Lines    []json.RawMessage
		ImportID string
		Done     bool
	}
	var pages []page
	in := importer{params: map[string]any{}, client: connected(t, func(_ string, params json.RawMessage) any {
		var p page
		if err := json.Unmarshal(params, &p); err != nil {
			t.Error(err)
		}
		pages = append(pages, p)
		return map[string]string{"importId": "imp_1", "sessionId": "sess_1"}
	})}
	const count = 10
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "{\"n\":%d,\"text\":%q}\n", i, strings.Repeat("x", maxPageBytes/3))
	}
	if err := in.read(t.Context(), strings.NewReader(text.String())); err != nil || in.session != "sess_1" {
		t.Fatalf("%q, %v", in.session, err)
	}
	if len(pages) != count/2 {
		t.Fatalf("%d pages", len(pages))
	}
	next := 0
	for i, p := range pages {
		if (p.ImportID == "imp_1") != (i > 0) || p.Done != (i == len(pages)-1) || len(p.Lines) != 2 {
			t.Errorf("page %d: import %q, done %t, %d lines", i, p.ImportID, p.Done, len(p.Lines))
		}
		for _, raw := range p.Lines {
			var line struct{ N int }
			if err := json.Unmarshal(raw, &line); err != nil || line.N != next {
				t.Errorf("line %d is number %d, %v", next, line.N, err)
			}
			next++
		}
	}
}
