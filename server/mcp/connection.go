package mcp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"strata/session/servers"
)

// The protocol versions that are tried. Servers of the first generations end at a first request that is not "initialize", which
// the versions since 2026-07-28 do not have. So the newer ones are only for servers that refuse it.
const (
	versionWithHandshake = "2025-11-25"
	versionNewest        = ""
)

// connection is a server that has been initialized.
type connection struct {
	link    link
	inbox   *inbox
	session *sdk.ClientSession
	open    context.Context // ends with the connection; its cause is the reason
	end     context.CancelCauseFunc
}

// connect initializes the server at the other end of a link. After an error, the link is closed.
func connect(ctx context.Context, l link, in *inbox, protocol, version string, at servers.Place) (*connection, error) {
	c := &connection{link: l, inbox: in}
	stop := context.AfterFunc(ctx, l.close)
	defer stop()
	err := protected(func() (err error) {
		c.session, err = newClient(version, at).Connect(ctx, l, &sdk.ClientSessionOptions{ProtocolVersion: protocol})
		return err
	})
	if err != nil {
		l.close()
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		return nil, err
	}
	c.open, c.end = context.WithCancelCause(context.Background())
	go func() { c.end(ending(c.session.Wait())) }()
	return c, nil
}

// ending returns the reason of the end of a connection, which is nil if the server ended it in order.
func ending(err error) error {
	if err == nil {
		return sdk.ErrConnectionClosed
	}
	return err
}

// endsWithin reports whether the connection has ended, or ends within a time.
func (c *connection) endsWithin(limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.open.Done():
		return true
	case <-timer.C:
		return false
	}
}

// close ends the connection, and waits until it has ended.
func (c *connection) close() {
	c.link.close()
	c.end(sdk.ErrConnectionClosed)
	_ = c.session.Close()
	c.link.wait()
}

// wantsNewer reports that a server may have refused the handshake of older protocol versions. Over HTTP that can be any bad
// request.
func wantsNewer(err error) bool {
	var answer *jsonrpc.Error
	if errors.As(err, &answer) && (answer.Code == jsonrpc.CodeMethodNotFound || answer.Code == sdk.CodeUnsupportedProtocolVersion) {
		return true
	}
	var status refusal
	return errors.As(err, &status) && status == http.StatusBadRequest
}
