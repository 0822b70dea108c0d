package mcp

import (
	"os/exec"

	"strata/internal/process"
	"strata/session/servers"
)

// commandOf returns the command of a server's process.
func commandOf(d servers.Definition, at servers.Place) process.Command {
	return process.Command{Path: d.Command, Args: d.Args, Dir: at.Folder, Env: environment(d, at)}
}

// startProcess starts a process.
func startProcess(c process.Command) (running, error) {
	cmd := exec.Command(c.Path, c.Args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, c.Env, c.Stdin, c.Stdout, c.Stderr
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &alone{cmd, make(chan struct{})}
	go func() { _ = cmd.Wait(); close(p.done) }()
	return p, nil
}

// alone is a process without those that it starts.
type alone struct {
	cmd  *exec.Cmd
	done chan struct{}
}

func (p *alone) Done() <-chan struct{} { return p.done }
func (p *alone) Exit() process.Exit    { return process.Exit{Code: p.cmd.ProcessState.ExitCode()} }
func (p *alone) Stop()                 { _ = p.cmd.Process.Kill() }
