package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strconv"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"golang.org/x/time/rate"

	"strata/internal/clip"
)

// The bounds of a server's messages. A server that sends more has to wait, except for its requests, which are dropped.
const (
	maxMessageRate  = 2000 // messages and lines a second
	messageBurst    = 20000
	maxRequestRate  = 20 // requests to us a second
	requestBurst    = 50
	maxRemarkRate   = 2 // lines of the log a second
	remarkBurst     = 20
	maxRemark       = 200 // characters of a line of the log
	maxProgressText = 1000
)

// inbox checks the messages of a server before the SDK processes them. It processes notifications itself, because the SDK queues
// them without a bound and panics at some of them. It is safe for concurrent use.
type inbox struct {
	log      *slog.Logger
	messages *rate.Limiter
	requests *rate.Limiter
	remarks  *rate.Limiter

	changed chan struct{} // has an element if the server's list of tools has changed

	mu      sync.Mutex
	last    int
	waiting map[string]*waiting // by progress token as it is in JSON
}

// waiting is a request of ours that has no response.
type waiting struct {
	token    int
	progress chan string // the newest report, with its text
	fail     context.CancelCauseFunc
}

func newInbox(log *slog.Logger) *inbox {
	return &inbox{
		log:      log,
		messages: rate.NewLimiter(maxMessageRate, messageBurst),
		requests: rate.NewLimiter(maxRequestRate, requestBurst),
		remarks:  rate.NewLimiter(maxRemarkRate, remarkBurst),
		changed:  make(chan struct{}, 1),
		waiting:  make(map[string]*waiting),
	}
}

// expect registers a request. fail is called if its response cannot be read. The caller has to pass the result to forget.
func (in *inbox) expect(fail context.CancelCauseFunc) *waiting {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.last++
	w := &waiting{token: in.last, progress: make(chan string, 1), fail: fail}
	in.waiting[strconv.Itoa(w.token)] = w
	return w
}

func (in *inbox) forget(w *waiting) {
	in.mu.Lock()
	defer in.mu.Unlock()
	delete(in.waiting, strconv.Itoa(w.token))
}

// fail ends all requests without a response. It is for messages that cannot be read: each could be a response to any of them.
func (in *inbox) fail(err error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for _, w := range in.waiting {
		w.fail(err)
	}
}

// accept returns the message in data if the SDK has to process it. The error is that of ctx, in which accept waits if the server
// sends too much.
func (in *inbox) accept(ctx context.Context, data []byte) (m jsonrpc.Message, ok bool, err error) {
	if err := in.messages.Wait(ctx); err != nil {
		return nil, false, fmt.Errorf("wait for a message: %w", err)
	}
	err = protected(func() (err error) {
		m, err = jsonrpc.DecodeMessage(data)
		return err
	})
	if err != nil {
		in.remark("an MCP server sent text that is not a message", "text", string(clip.Bytes(string(data), 4*maxRemark)))
		return nil, false, nil
	}
	switch m := m.(type) {
	case *jsonrpc.Response:
		m.Result = repair(m.Result)
		return m, true, nil
	case *jsonrpc.Request:
		if m.IsCall() {
			return m, in.requests.Allow(), nil
		}
		return m, in.notified(m), nil
	}
	return nil, false, nil
}

// notified processes a notification. It returns whether the SDK has to know of it, too.
func (in *inbox) notified(n *jsonrpc.Request) bool {
	switch n.Method {
	case "notifications/progress":
		in.progressed(n.Params)
	case "notifications/message":
		in.remark("an MCP server wrote to its log", "text", string(n.Params))
	case "notifications/tools/list_changed":
		select {
		case in.changed <- struct{}{}:
		default:
		}
		return in.requests.Allow() // it drops lists that it has kept
	}
	return false
}

func (in *inbox) progressed(params json.RawMessage) {
	var p struct {
		Token    json.RawMessage `json:"progressToken"`
		Progress float64         `json:"progress"`
		Total    float64         `json:"total"`
		Message  string          `json:"message"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	w := in.waiting[string(p.Token)]
	if w == nil {
		return
	}
	text := clip.Line(p.Message, maxProgressText)
	if text == "" && p.Total > 0 {
		text = fmt.Sprintf("%.4g of %.4g", p.Progress, p.Total)
	}
	select { // the newest report replaces one that nobody has read
	case <-w.progress:
	default:
	}
	w.progress <- text
}

// remark writes a line to the log, unless there were many. Texts of servers are truncated.
func (in *inbox) remark(message, key, text string) {
	if in.remarks.Allow() {
		in.log.Debug(message, key, clip.Line(text, maxRemark))
	}
}
