package editor

import (
	"encoding/json"
	"fmt"

	"strata/internal/clip"
	"strata/internal/exact"
	"strata/session/clients"
)

// ACP's requests to a client for a command in a terminal.
const (
	MethodCreateTerminal  = "terminal/create"
	MethodTerminalOutput  = "terminal/output"
	MethodWaitForExit     = "terminal/wait_for_exit"
	MethodKillTerminal    = "terminal/kill"    // its result says nothing
	MethodReleaseTerminal = "terminal/release" // likewise
)

// CreateTerminalParams are the parameters of terminal/create.
type CreateTerminalParams struct {
	SessionID string        `json:"sessionId"`
	Command   string        `json:"command"`
	Args      []string      `json:"args,omitempty"`
	Env       []EnvVariable `json:"env,omitempty"`
	Dir       string        `json:"cwd,omitempty"`
	Limit     int           `json:"outputByteLimit,omitempty"`
}

// EnvVariable is a variable of an environment.
type EnvVariable struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// NewCreateTerminalParams returns the parameters for a command of a session.
func NewCreateTerminalParams(sessionID string, c clients.TerminalCommand) CreateTerminalParams {
	params := CreateTerminalParams{SessionID: sessionID, Command: c.Program, Args: c.Args, Dir: c.Dir, Limit: c.Limit}
	for _, v := range c.Env {
		params.Env = append(params.Env, EnvVariable(v))
	}
	return params
}

// TerminalParams are the parameters of the other requests: the terminal that they concern.
type TerminalParams struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
}

// The bounds of results about terminals.
const (
	maxTerminalID     = 1 << 10 // bytes
	maxTerminalOutput = 8 << 20 // bytes of JSON
	maxSignal         = 64      // bytes; a longer name is truncated
	maxExitCode       = 1<<32 - 1
)

// CreatedTerminal returns the terminal's id in a result of terminal/create.
func CreatedTerminal(raw json.RawMessage) (id string, err error) {
	var in struct {
		ID string `json:"terminalId" need:"content"`
	}
	switch err := exact.Decode(raw, "result", &in); {
	case err != nil:
		return "", err
	case in.ID == "": // the whole result is null
		return "", exact.Missing("result.terminalId")
	case len(in.ID) > maxTerminalID:
		return "", fmt.Errorf("result.terminalId: %d bytes exceeds the limit of %d", len(in.ID), maxTerminalID)
	}
	return in.ID, nil
}

// TerminalOutput returns the output in a result of terminal/output.
func TerminalOutput(raw json.RawMessage) (clients.TerminalOutput, error) {
	if len(raw) > maxTerminalOutput {
		return clients.TerminalOutput{}, fmt.Errorf("%d bytes exceeds the limit of %d", len(raw), maxTerminalOutput)
	}
	var in struct {
		Output    *string     `json:"output" need:"value"`
		Truncated bool        `json:"truncated" need:"value"`
		Exit      *exitStatus `json:"exitStatus"`
	}
	if err := exact.Decode(raw, "result", &in); err != nil {
		return clients.TerminalOutput{}, err
	}
	if in.Output == nil { // the whole result is null
		return clients.TerminalOutput{}, exact.Missing("result.output")
	}
	out := clients.TerminalOutput{Text: *in.Output, Truncated: in.Truncated}
	if in.Exit != nil {
		exit, err := in.Exit.exit("result.exitStatus")
		if err != nil {
			return clients.TerminalOutput{}, err
		}
		out.Exit = &exit
	}
	return out, nil
}

// CommandExit returns how a command ended, by a result of terminal/wait_for_exit.
func CommandExit(raw json.RawMessage) (clients.Exit, error) {
	var in exitStatus
	if err := exact.Decode(raw, "result", &in); err != nil {
		return clients.Exit{}, err
	}
	return in.exit("result")
}

// exitStatus is how a command ended. A client that knows neither sends neither.
type exitStatus struct {
	Code   *int64 `json:"exitCode"`
	Signal string `json:"signal"`
}

// exit returns the status at a path.
func (s *exitStatus) exit(path string) (clients.Exit, error) {
	exit := clients.Exit{Signal: clip.Bytes(s.Signal, maxSignal)}
	if s.Code == nil {
		return exit, nil
	}
	if *s.Code < 0 || *s.Code > maxExitCode {
		return clients.Exit{}, &exact.Error{Path: path + ".exitCode", Want: fmt.Sprintf("must be a whole number from 0 to %d", int64(maxExitCode))}
	}
	code := int(*s.Code)
	exit.Code = &code
	return exit, nil
}
