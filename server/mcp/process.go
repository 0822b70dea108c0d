package mcp

import (
	"strata/internal/process"
	"strata/session/servers"
)

// running is a process that was started, as process.Process has it.
type running interface {
	Done() <-chan struct{}
	Exit() process.Exit
	Stop()
}

// starter starts a process.
type starter func(process.Command) (running, error)

func startProcess(c process.Command) (running, error) {
	p, err := process.Start(c)
	if err != nil {
		return nil, err // not a nil *process.Process in an interface
	}
	return p, nil
}

// commandOf returns the command of a server's process.
func commandOf(d servers.Definition, at servers.Place) process.Command {
	return process.Command{Path: d.Command, Args: d.Args, Dir: at.Folder, Env: environment(d, at)}
}
