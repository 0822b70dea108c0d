package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"

	"strata/server/access"
	"strata/web"
)

// endpoint is where a server listens, and the guard of its routes.
type endpoint struct {
	scheme string // http or https
	host   string // host:port
	guard  *access.Guard
}

// listen opens the listener of a server.
func listen(opt Options) (*endpoint, net.Listener, error) {
	listener, err := net.Listen("tcp", opt.Listen)
	if err != nil {
		return nil, nil, fmt.Errorf("listen on %s: %w", opt.Listen, err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	e := &endpoint{scheme: "http", host: hostFor(opt.Listen, port)}
	if opt.TLS != nil {
		listener = tls.NewListener(listener, opt.TLS)
		e.scheme = "https"
	}
	e.guard, err = access.NewGuard(access.Options{
		Token: opt.Token, Port: port, TLS: opt.TLS != nil, BehindProxy: opt.Proxy,
		Origins: opt.Origins, Hosts: opt.Hosts, EntryPage: web.WriteEntry, Now: opt.Host.Now, Log: opt.Log,
	})
	if err != nil {
		listener.Close()
		return nil, nil, err
	}
	return e, listener, nil
}

// hostFor returns the host and port at which clients on this machine reach a listener.
func hostFor(listen string, port int) string {
	host, _, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err != nil || host == "" || (ip != nil && ip.IsUnspecified()) {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, fmt.Sprint(port))
}

// page returns the address of the HUD.
func (e *endpoint) page() string { return e.scheme + "://" + e.host + "/" }

// newHUD returns an address that opens the HUD once.
func (e *endpoint) newHUD() string {
	return e.page() + "?" + access.CodeParam + "=" + e.guard.NewCode()
}

// socket returns the address of the WebSocket.
func (e *endpoint) socket() string {
	scheme := "ws"
	if e.scheme == "https" {
		scheme = "wss"
	}
	return scheme + "://" + e.host + "/acp"
}

// announce writes the file by which editors find the server, and tells the host.
func (b *backend) announce() error {
	stats, err := b.store.Stats(context.Background())
	if err != nil {
		return err
	}
	if b.ServerFile != "" {
		err := access.WriteServerFile(b.ServerFile, access.ServerFile{
			URL: b.endpoint.socket(), Token: b.Token, PID: os.Getpid(), Database: stats.Path, Version: b.Version,
		})
		if err != nil {
			return err
		}
	}
	b.Log.Info("listening", slog.String("address", b.endpoint.page()), slog.String("database", stats.Path))
	b.Host.Ready(Ready{HUD: b.endpoint.newHUD(), WebSocket: b.endpoint.socket(), Database: stats.Path})
	return nil
}

// withdraw removes the file by which editors find the server.
func (b *backend) withdraw() {
	if b.ServerFile == "" {
		return
	}
	if err := access.RemoveServerFile(b.ServerFile, os.Getpid()); err != nil {
		b.Log.Warn("server file not removed", slog.Any("error", err))
	}
}
