// Command strata is a session server for AI chat in editors, and its command line: it starts the server, serves editors
// on standard input and output, asks from a terminal, and manages sessions, token and health.
//
// It is flags, configuration and wiring only; each command is a package below internal. It must never contain a rule of
// the sessions: commands read and change them through the running server.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"strata/internal/process"
)

func main() {
	process.Supervise()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process immediately
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
