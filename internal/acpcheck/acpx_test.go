package acpcheck

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/internal/binary"
)

// edit is a prompt with which the actor reads and edits a file.
const edit = `call read_file {"path": "a.txt"}
---
call edit_file {"path": "a.txt", "edits": [{"old_text": "text", "new_text": "words"}]}
---
say Done.`

// acpx, which others have built, edits a file: with the approval that it gives, without one, and without access to files of
// its own.
func TestAcpx(t *testing.T) {
	acpx, err := InstallAcpx(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	const deniedExit = 5 // of acpx, if it denied a request
	for _, tt := range []struct {
		name, flags string
		code        int
		file        string // afterwards
		asked       bool   // for files
	}{
		{"approves", "--approve-all", 0, "words of a\n", true},
		{"approves, without files", "--approve-all --no-fs", 0, "words of a\n", false},
		{"denies", "--deny-all", deniedExit, "text of a\n", true},
		{"denies, without files", "--deny-all --no-fs", deniedExit, "text of a\n", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server := binary.Start(t, actingHome(t), binary.Options{})
			defer server.Stop()
			stdio := server.Home.Command(t.Context(), "stdio")
			frames, code, err := acpx.Exec(t.Context(), server.Home.Project, stdio.Env, strings.Join(stdio.Args, " "), edit, strings.Fields(tt.flags)...)
			if err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(filepath.Join(server.Home.Project, "a.txt")); err != nil || string(text) != tt.file || code != tt.code {
				t.Errorf("the file is %q, %v; acpx ended with %d", text, err, code)
			}
			questions := frames.Of("session/request_permission")
			if len(questions) != 1 || !strings.Contains(string(questions[0].Params), `"oldText":"text of a\n","newText":"words of a\n"`) {
				t.Errorf("%d questions: %s", len(questions), questions)
			}
			if asked := len(frames.Of("fs/read_text_file")) > 0; asked != tt.asked {
				t.Errorf("acpx was asked for files: %t", asked)
			}
			if wrote := len(frames.Of("fs/write_text_file")) > 0; wrote != (tt.asked && tt.code == 0) {
				t.Errorf("acpx wrote the file: %t", wrote)
			}
			last := frames[len(frames)-1]
			if !strings.Contains(string(last.Result), `"stopReason":"end_turn"`) {
				t.Errorf("the last message is %+v", last)
			}
		})
	}
}
