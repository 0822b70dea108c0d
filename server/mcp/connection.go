package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"path/filepath"
	"runtime/debug"
	"strings"

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

// close ends the connection, and waits until it has ended.
func (c *connection) close() {
	c.link.close()
	c.end(sdk.ErrConnectionClosed)
	_ = c.session.Close()
	c.link.wait()
}

// newClient returns a client that has no capabilities but the folders of a place. Requests for anything else get an error.
func newClient(version string, at servers.Place) *sdk.Client {
	client := sdk.NewClient(&sdk.Implementation{Name: "strata", Title: "Strata", Version: version}, &sdk.ClientOptions{
		Logger:                 slog.New(slog.DiscardHandler),
		Capabilities:           &sdk.ClientCapabilities{RootsV2: &sdk.RootCapabilities{}},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) {}, // the inbox has it; this asks the server for it
	})
	for _, folder := range append([]string{at.Folder}, at.Roots...) {
		client.AddRoots(&sdk.Root{URI: fileURI(folder), Name: filepath.Base(folder)})
	}
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, req sdk.Request) (result sdk.Result, err error) {
			err = protected(func() (err error) {
				result, err = next(ctx, method, req)
				return err
			})
			return result, err
		}
	})
	return client
}

// fileURI returns the URI of an absolute path.
func fileURI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive of Windows
		path = "/" + path
	}
	return (&url.URL{Scheme: "file", Path: path}).String()
}

// protected calls f, and returns a panic in it as an error. It is for code of the SDK that processes what a server sent.
func protected(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("process a message of an MCP server: %v\n%s", p, debug.Stack())
		}
	}()
	return f()
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
