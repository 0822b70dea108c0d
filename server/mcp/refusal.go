package mcp

import (
	"fmt"
	"net/http"
)

// codeRejected is the code of errors that the SDK makes of failed requests over HTTP.
const codeRejected = -32005

// refusal is the HTTP status of an error.
type refusal int

func (r refusal) Error() string {
	text := fmt.Sprintf("HTTP %d %s", int(r), http.StatusText(int(r)))
	switch r {
	case http.StatusUnauthorized, http.StatusForbidden:
		return text + ": the server needs an authorization header"
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return text + ": the URL does not serve streamable HTTP (the older HTTP with SSE is not supported)"
	}
	return text
}
