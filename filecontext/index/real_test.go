package index

import (
	"path/filepath"
	"slices"
	"testing"

	"strata/filecontext/outline"
)

// A question about Strata's own tree finds the right file among the first five files.
func TestSearchAnswersQuestions(t *testing.T) {
	root, err := filepath.Abs("../..")
	must(t, err)
	parser := outline.New(outline.Options{CacheDir: t.TempDir()})
	t.Cleanup(parser.Close)
	h := acquire(t, registry(t, Options{Parser: parser}), root)
	status := h.Status()
	t.Logf("%d files, %d outlines of %d bytes", status.Files, status.Outlined, status.Bytes)
	for question, want := range map[string]string{
		"where is the mailbox?":                                      "session/mailbox/mailbox.go",
		"how are secret-looking files recognised?":                   "filecontext/secrets/secrets.go",
		"where are the rules of an ignore file combined?":            "filecontext/ignore.go",
		"how are the rows of a purged session removed?":              "historystore/purge.go",
		"which code estimates the tokens of an image?":               "tokens/image.go",
		"where does the WebSocket stream read its frames?":           "rpc/websocket.go",
		"how are files put into clusters at the first placement?":    "stability/clusters.go",
		"where is a topic boundary detected?":                        "compaction/detect.go",
		"migrations of the database schema":                          "historystore/schema/schema.go",
		"Which function parses the events of an Anthropic response?": "llm/reply/anthropic_stream.go",
	} {
		hits, err := h.Search(t.Context(), question, 30)
		must(t, err)
		var files []string
		for _, hit := range hits {
			if !slices.Contains(files, hit.Path) && len(files) < 5 {
				files = append(files, hit.Path)
			}
		}
		if !slices.Contains(files, want) {
			t.Errorf("%s\nwant %s, got %v\n%v", question, want, files, hits[:min(len(hits), 8)])
		}
	}
}
