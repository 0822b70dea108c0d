// Command strata is a session server for editor frontends, and its command line: it starts the server, proxies it to
// editors that speak over standard streams, asks it from a terminal, and looks after its sessions, token and health.
//
// It is flags, configuration and wiring only. It must never hold a rule of the sessions: what a command shows or
// changes goes through the running server.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Getenv))
}
