package server

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"strata/history"
	"strata/server/editor"
	"strata/server/wire"
	"strata/session/clients"
	"strata/session/tools"
)

// requestsToClients are the requests that the document's test makes the server send, by method.
var requestsToClients = map[string]struct {
	ask    func(ctx context.Context, client clients.Client, params json.RawMessage) read
	result func(result json.RawMessage) read // that the server must read; nil: it does not wait for one
}{
	wire.MethodReadTextFile: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			return outcome(client.ReadTextFile(ctx, from[clients.Read](params), 0))
		},
		func(result json.RawMessage) read { return outcome(wire.ReadTextFileContent(result)) },
	},
	wire.MethodWriteTextFile: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			return outcome("", client.WriteTextFile(ctx, from[clients.Write](params), 0))
		},
		func(json.RawMessage) read { return read{} },
	},
	editor.MethodListWorkspace: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			in := from[editor.ListWorkspaceParams](params)
			return asText(client.ListWorkspace(ctx, clients.List{Folder: in.Folder, Since: in.Since, Cursor: in.Cursor, Limit: in.Limit}, 0))
		},
		func(result json.RawMessage) read { return asText(editor.WorkspacePage(result)) },
	},
	editor.MethodReadFiles: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			in := from[editor.ReadFilesParams](params)
			return asText(client.ReadFiles(ctx, clients.ReadMany{
				Folder: in.Folder, Paths: in.Paths, Binary: in.Encoding != "", MaxFile: in.MaxFile, MaxBytes: in.MaxBytes,
			}, 0))
		},
		func(result json.RawMessage) read {
			return asText(editor.FilesRead(bytes.Contains(result, []byte(`"data"`)))(result))
		},
	},
	editor.MethodDeleteFile: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			return outcome("", client.DeleteFile(ctx, from[editor.DeleteFileParams](params).Path, 0))
		},
		func(json.RawMessage) read { return read{} },
	},
	editor.MethodMoveFile: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			in := from[editor.MoveFileParams](params)
			return outcome("", client.MoveFile(ctx, in.Path, in.NewPath, 0))
		},
		func(json.RawMessage) read { return read{} },
	},
	wire.MethodRequestPermission: {
		func(ctx context.Context, client clients.Client, _ json.RawMessage) read {
			return answered(client.RequestPermission(ctx, permissionWithDiff(), 0))
		},
		func(result json.RawMessage) read { return answered(wire.PermissionAnswer(result)) },
	},
	editor.MethodCreateTerminal: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			in := from[editor.CreateTerminalParams](params)
			c := clients.TerminalCommand{Program: in.Command, Args: in.Args, Dir: in.Dir, Limit: in.Limit}
			for _, v := range in.Env {
				c.Env = append(c.Env, clients.Variable(v))
			}
			return outcome(client.CreateTerminal(ctx, c, 0))
		},
		func(result json.RawMessage) read { return outcome(editor.CreatedTerminal(result)) },
	},
	editor.MethodTerminalOutput: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			return asText(client.TerminalOutput(ctx, from[editor.TerminalParams](params).TerminalID, 0))
		},
		func(result json.RawMessage) read { return asText(editor.TerminalOutput(result)) },
	},
	editor.MethodWaitForExit: {
		func(ctx context.Context, client clients.Client, params json.RawMessage) read {
			return asText(client.WaitForExit(ctx, from[editor.TerminalParams](params).TerminalID, 0))
		},
		func(result json.RawMessage) read { return asText(editor.CommandExit(result)) },
	},
	editor.MethodKillTerminal: {
		ask: func(_ context.Context, client clients.Client, params json.RawMessage) read {
			client.KillTerminal(from[editor.TerminalParams](params).TerminalID, 0)
			return read{}
		},
	},
	editor.MethodReleaseTerminal: {
		ask: func(_ context.Context, client clients.Client, params json.RawMessage) read {
			client.ReleaseTerminal(from[editor.TerminalParams](params).TerminalID, 0)
			return read{}
		},
	},
}

// from decodes the parameters of an example.
func from[T any](params json.RawMessage) T {
	var in T
	if err := json.Unmarshal(params, &in); err != nil {
		panic(fmt.Sprintf("%s: %v", params, err))
	}
	return in
}

// asText returns what a request returned as text.
func asText[T any](value T, err error) read {
	raw, failed := json.Marshal(value)
	if failed != nil {
		panic(failed)
	}
	return outcome(string(raw), err)
}

// answered returns an answer of the user as text.
func answered(a clients.Answer, err error) read {
	return outcome(a.OptionID+" "+a.Words, err)
}

// permissionWithDiff returns permission with the change that the call would make.
func permissionWithDiff() clients.Permission {
	p := permission()
	hunk := history.TextHunk{OldStart: 2, NewStart: 2, Old: "\nfunc main() {}\n", New: "\nfunc main() { run() }\n"}
	p.Call.Diffs = []history.Diff{{Path: "/home/me/project/main.go", Hunks: []history.TextHunk{hunk}}}
	return p
}

// running returns a running command with its output.
func running(o tools.Output) tools.Progress {
	return tools.Progress{
		CallID: "tc_1", Status: tools.InProgress, Kind: tools.KindExecute, Input: json.RawMessage(`{"command":"go test ./..."}`),
		Description: tools.Description{Title: "go test ./..."}, Output: &o,
	}
}
