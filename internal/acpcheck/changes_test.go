package acpcheck

import (
	"fmt"
	"testing"

	"strata/internal/binary"
	"strata/internal/upstream"
)

// An editor is asked about the changes of files that a model makes, makes them in its own way, and loads the same
// conversation with their diffs after a restart of the server.
func TestChangesInAnEditor(t *testing.T) {
	inEditors(t, "changes-check.mjs", listeningHome, binary.Options{Env: []string{"STRATA_TOOLS_APPROVAL_TIMEOUT=1s"}})
}

// listeningHome returns a home folder with the actor as the model, and another model that makes a file and says what it was
// told of that.
func listeningHome(t *testing.T) *binary.Home {
	t.Helper()
	model := upstream.Start(upstream.Options{Strict: true})
	t.Cleanup(model.Close)
	model.Choose(func(req *upstream.Request) upstream.Script {
		usage := upstream.Usage{Input: req.Tokens(), Output: 10}
		last := req.Messages[len(req.Messages)-1]
		if last.Blocks[0].Type != "tool_result" {
			return upstream.Script{Usage: usage, Steps: upstream.Call("1", "write_file", `{"path":"told.txt","content":"new\n"}`)}
		}
		return upstream.Script{Usage: usage, Steps: upstream.Texts("I was told: " + last.Blocks[0].Content[0].Text)}
	})
	config := "listen: 127.0.0.1:0\nmodel: offline/actor\nproviders: {local: {kind: openai, base_url: %q, api_key_env: \"\"}}\n"
	return binary.NewHome(t, fmt.Sprintf(config, model.OpenAIURL()))
}
