// Package wire holds the types of the protocol, those of ACP and those of the extension methods, and maps them to and
// from the values of history and session. It decodes and validates parameters, encodes events as notifications, and
// maps errors to codes.
//
// It must never hold state, do I/O or log.
package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"

	"strata/internal/exact"
	"strata/rpc"
)

// The names of our notifications.
const (
	MethodUpdate      = "session/update"
	MethodEvent       = "_strata/event"
	MethodServerEvent = "_strata/server/event"
)

// validator is implemented by parameters with constraints that their types do not express.
type validator interface{ validate() error }

// Decode decodes a request's parameters into a struct and validates them. Names match exactly, an unknown name is ignored.
// The error is an InvalidParams that names the parameter and what is expected.
func Decode(raw json.RawMessage, into any) error {
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := exact.Decode(raw, "params", into); err != nil {
		return InvalidParams("%s", err)
	}
	if v, ok := into.(validator); ok {
		return v.validate()
	}
	return nil
}

// strataMeta wraps our own data as the _meta member of an ACP type.
func strataMeta(data any) any { return map[string]any{"strata": data} }

// PageSize is the number of entries in a page if the client sets no limit.
const PageSize = 50

// MaxPage is the maximum number of entries in a page.
const MaxPage = 500

// PageParams are the parameters of every paged list.
type PageParams struct {
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

// Size returns the number of entries that the page may have.
func (p PageParams) Size() (int, error) {
	switch {
	case p.Limit < 0:
		return 0, InvalidParams("params.limit: %d is below 1", p.Limit)
	case p.Limit == 0:
		return PageSize, nil
	}
	return min(p.Limit, MaxPage), nil
}

// SeqPage is a page of a list that is ordered by sequence number.
type SeqPage struct {
	Before int64 // the page ends before this number; 0: at the end of the list
	Size   int   // maximum number of entries
}

// SeqPage returns the page of a list that is ordered by sequence number.
func (p PageParams) SeqPage() (page SeqPage, err error) {
	if p.Cursor != "" {
		if page.Before, err = strconv.ParseInt(p.Cursor, 10, 64); err != nil || page.Before < 1 {
			return SeqPage{}, errCursor()
		}
	}
	page.Size, err = p.Size()
	return page, err
}

// SeqCursor returns the cursor of the page that ends before a sequence number; empty if the number is 0.
func SeqCursor(before int64) string {
	if before == 0 {
		return ""
	}
	return strconv.FormatInt(before, 10)
}

func errCursor() *rpc.Error { return InvalidParams("params.cursor: not a cursor of this list") }

// notification encodes the parameters of a notification. seq is 0 if it carries no sequence number.
func notification(method string, seq uint64, params any) (rpc.Notification, error) {
	raw, err := json.Marshal(params)
	if err != nil {
		return rpc.Notification{}, fmt.Errorf("encode %s: %w", method, err)
	}
	return rpc.Notification{Method: method, Params: raw, Seq: seq}, nil
}
