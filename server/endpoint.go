package server

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"time"

	"strata/server/access"
	"strata/web"
)

// endpoint is where a server listens, and the guard of its routes.
type endpoint struct {
	scheme string // http or https
	host   string // host:port
	guard  *access.Guard
}

// listen opens the listener of a server. rotated is called with each new token; see access.Options.
func listen(opt Options, rotated func(access.Token)) (*endpoint, net.Listener, error) {
	listener, err := opt.Socket, error(nil)
	if listener == nil {
		listener, err = net.Listen("tcp", opt.Listen)
	}
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
		Token: opt.Token, TokenFile: opt.TokenFile, Rotated: rotated, Port: port, TLS: opt.TLS != nil, BehindProxy: opt.Proxy,
		Origins: opt.Origins, Hosts: opt.Hosts, HomePage: web.WriteHome, EntryPage: web.WriteEntry, Now: opt.Host.Now, Log: opt.Log,
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
	if err := b.publish(b.endpoint.guard.Token(), stats.Path); err != nil {
		return err
	}
	b.Log.Info("listening", slog.String("address", b.endpoint.page()), slog.String("database", stats.Path))
	b.Host.Ready(Ready{HUD: b.endpoint.newHUD(), WebSocket: b.endpoint.socket(), Database: stats.Path})
	return nil
}

// publish writes the file by which editors find the server, if it has one.
func (b *backend) publish(token access.Token, database string) error {
	if b.ServerFile == "" {
		return nil
	}
	return access.WriteServerFile(b.ServerFile, access.ServerFile{
		URL: b.endpoint.socket(), Token: token, PID: os.Getpid(), Database: database, Version: b.Version,
	})
}

// accessEnded is the reason for closing a connection whose peer is no longer authorized.
const accessEnded = "access has ended: the token was rotated, or the page is older than 24 hours"

// rotated takes up a new token: editors find it, and then every connection ends, since it was opened by the old one.
func (b *backend) rotated(token access.Token) {
	if err := b.publish(token, b.store.Files()[0]); err != nil {
		b.Log.Warn("server file not written with the new token; clients cannot find this server", slog.Any("error", err))
	}
	b.clients.revoke(func(access.Grant) bool { return false }, accessEnded)
}

// accessInterval is the interval at which the server looks whether the access of open connections has ended. Requests for
// new connections look at once.
const accessInterval = time.Second

// watchAccess ends connections whose access has ended, until ctx ends.
func (b *backend) watchAccess(ctx context.Context) {
	tick := time.NewTicker(accessInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			b.clients.revoke(b.endpoint.guard.Holds, accessEnded)
		case <-ctx.Done():
			return
		}
	}
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
