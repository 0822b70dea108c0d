//go:build linux

package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"

	"golang.org/x/sys/unix"
)

// startLimit is the number of failures after which the activator closes its socket, as systemd does.
const startLimit = 5

// activator does for a socket what systemd does: activator ADDRESS PROGRAM ARGUMENT... listens, starts the program with the
// socket when somebody connects, and again after its end. It ends when the program has failed too often.
func activator() {
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		os.Exit(0)
	}()
	fmt.Println("listening")
	for failures := 0; failures < startLimit; {
		if _, err := unix.Poll([]unix.PollFd{{Fd: int32(socket.Fd()), Events: unix.POLLIN}}, -1); err != nil {
			continue
		}
		// LISTEN_PID is the process of the program.
		cmd := exec.Command("sh", append([]string{"-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"`, "sh"}, os.Args[2:]...)...)
		cmd.ExtraFiles = []*os.File{socket}
		if cmd.Run() != nil {
			failures++
		}
	}
}
