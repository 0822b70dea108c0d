package main

import (
	"net"
	"net/url"
)

// samePort reports whether the address of a server and an address to listen on have the same port.
func samePort(server, listen string) bool {
	u, err := url.Parse(server)
	if err != nil {
		return false
	}
	_, port, err := net.SplitHostPort(listen)
	return err == nil && port == u.Port()
}
