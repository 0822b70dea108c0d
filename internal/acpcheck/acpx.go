package acpcheck

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
)

// Acpx is acpx with the Node.js that runs it.
type Acpx struct{ node, script string }

// InstallAcpx installs acpx and, on systems for which npm has one, the Node.js that it needs, as Install does. On other
// systems, the node on PATH must be new enough.
func InstallAcpx(ctx context.Context) (Acpx, error) {
	// npm ci refuses the list of packages on systems for which one of acpx's optional packages is missing from the registry.
	dir, err := install(ctx, "acpx", acpxPackages, "testdata/acpx", "install")
	if err != nil {
		return Acpx{}, err
	}
	a := Acpx{node: "node", script: filepath.Join(dir, "node_modules", "acpx", "dist", "cli.js")}
	own, err := filepath.Glob(filepath.Join(dir, "node_modules", "node-*", "bin", "node"))
	if err == nil && len(own) == 1 {
		a.node = own[0]
	}
	return a, nil
}

// Frame is a message between acpx and its agent.
type Frame struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// Frames are messages in their order.
type Frames []Frame

// Of returns the requests and notifications of a method.
func (all Frames) Of(method string) (some Frames) {
	for _, f := range all {
		if f.Method == method {
			some = append(some, f)
		}
	}
	return some
}

// Exec sends one prompt in a new session, in a folder and with an environment, and returns the messages of the connection
// and acpx's exit code. The agent is a command line. The error means that acpx did not run to its end.
func (a Acpx) Exec(ctx context.Context, folder string, env []string, agent, prompt string, flags ...string) (frames Frames, code int, err error) {
	args := append([]string{a.script, "--cwd", folder, "--agent", agent, "--format", "json"}, flags...)
	cmd := exec.CommandContext(ctx, a.node, append(args, "exec", prompt)...)
	cmd.Env = env
	var problems bytes.Buffer
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.Exited() {
		code = exit.ExitCode()
	} else if err != nil {
		return nil, 0, fmt.Errorf("run acpx: %w\n%s", err, &problems)
	}
	for line := range bytes.Lines(out) {
		var f Frame
		if err := json.Unmarshal(line, &f); err != nil {
			return nil, 0, fmt.Errorf("acpx printed %q: %w\n%s", line, err, &problems)
		}
		frames = append(frames, f)
	}
	return frames, code, nil
}
