package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"strata/internal/clip"
	"strata/internal/exact"
)

// ErrUnchanged is matched by the errors of a store after which nothing of a change is stored.
var ErrUnchanged = errors.New("nothing was stored")

// ErrNotFound is returned, wrapped with its subject, for a session, turn or message that is not stored.
var ErrNotFound = errors.New("not found")

// Session is the stored record of a session.
type Session struct {
	ID          string    `json:"id"` // sess_ + ULID
	CWD         string    `json:"cwd"`
	Roots       []string  `json:"roots,omitempty"` // additional roots, absolute
	Title       string    `json:"title"`
	TitleByUser bool      `json:"titleByUser,omitempty"` // set by the user; never replaced automatically
	Config      Config    `json:"config"`
	CreatedAt   time.Time `json:"createdAt"`
	UpdatedAt   time.Time `json:"updatedAt"`
	DeletedAt   time.Time `json:"deletedAt,omitzero"` // zero unless it is deleted
	Hidden      bool      `json:"hidden,omitempty"`   // an incomplete import
	Messages    int       `json:"messages"`           // count; kept by the store
}

// Config holds the user's settings for a session. An empty field means the server's default.
type Config struct {
	Model        string `json:"model,omitempty"` // provider/model
	ThoughtLevel string `json:"thoughtLevel,omitempty"`
	Profile      string `json:"profile,omitempty"`
	Mode         string `json:"mode,omitempty"`
	Compaction   string `json:"compaction,omitempty"` // strategy
	Approval     string `json:"approval,omitempty"`   // of tool calls that can change something

	Rules []string `json:"rules,omitempty"` // that allow such calls, made by the user's answers

	// Workspace is WorkspaceClient if a client has the session's files. It never changes.
	Workspace string `json:"workspace,omitempty"`
	// WorkspaceID distinguishes these files from those of other clients. It is empty if the client named none.
	WorkspaceID string `json:"workspaceId,omitempty"`
}

// WorkspaceClient is the workspace of a session whose files a client has; the folder only names them.
const WorkspaceClient = "client"

// IsRemote reports whether a client has the session's files.
func (c *Config) IsRemote() bool { return c.Workspace == WorkspaceClient }

// TurnStatus is the status of a turn.
type TurnStatus string

// The states of a turn. If a starting server finds TurnRunning in its store, the previous server has crashed.
const (
	TurnRunning     TurnStatus = "running"
	TurnCompleted   TurnStatus = "completed"
	TurnCancelled   TurnStatus = "cancelled"
	TurnFailed      TurnStatus = "failed"
	TurnInterrupted TurnStatus = "interrupted"
)

// Turn is the stored record of one prompt and its reply.
type Turn struct {
	ID         string     `json:"id"`                 // turn_ + ULID
	PromptID   string     `json:"promptId,omitempty"` // the client's name for the prompt, unique in the session
	UserID     string     `json:"userId"`             // message id of the prompt
	ReplyID    string     `json:"replyId"`            // message id of the reply, assigned in advance; of its last step once the turn has ended
	Status     TurnStatus `json:"status"`
	StopReason string     `json:"stopReason,omitempty"` // end_turn, max_tokens, max_turn_requests, refusal, cancelled
	Failure    *Failure   `json:"failure,omitempty"`
	Usage      Usage      `json:"usage"`
	Cost       float64    `json:"cost"` // US dollars
	StartedAt  time.Time  `json:"startedAt"`
	EndedAt    time.Time  `json:"endedAt,omitzero"`
}

// Failure is an error as sent to the client, stored so that it can be sent again.
type Failure struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Usage counts the tokens of a model call. The whole input is the sum of the three input numbers: Input excludes tokens
// read from or written to a prompt cache, whatever the provider's convention.
type Usage struct {
	Input      int `json:"input"`
	Output     int `json:"output"`
	CacheRead  int `json:"cacheRead"`
	CacheWrite int `json:"cacheWrite"`
}

// MaxTokens is the maximum of any count of tokens from outside. Sums of a million such counts do not overflow.
const MaxTokens = 1 << 40

// Check returns an error that names a count below 0 or above MaxTokens.
func (u Usage) Check() error {
	for name, n := range map[string]int{"input": u.Input, "output": u.Output, "cacheRead": u.CacheRead, "cacheWrite": u.CacheWrite} {
		if err := checkTokens(name, n); err != nil {
			return err
		}
	}
	return nil
}

func checkTokens(name string, n int) error {
	if n < 0 || n > MaxTokens {
		return &exact.Error{Path: name, Want: fmt.Sprintf("must be a whole number from 0 to %d", MaxTokens)}
	}
	return nil
}

// maxCost is the maximum cost of a call, in US dollars.
const maxCost = 1e9

// maxStep is the maximum number of a step.
const maxStep = 1 << 20

// maxAttempts is the maximum number of requests for a call, and maxDuration its maximum duration in milliseconds, ten years.
const (
	maxAttempts = 1 << 20
	maxDuration = 10 * 366 * 24 * 3600 * 1000
)

// checkEnd returns an error that names an invalid field about the end of c.
func (c *Call) checkEnd() error {
	switch c.Status {
	case "", CallComplete, CallStopped, CallFailed:
	default:
		return &exact.Error{Path: "status", Want: "must be complete, stopped or failed"}
	}
	for _, n := range []struct {
		name        string
		value, most int64
	}{{"attempts", int64(c.Attempts), maxAttempts}, {"durationMs", c.Duration, maxDuration}, {"firstTokenMs", c.FirstToken, maxDuration}} {
		if n.value < 0 || n.value > n.most {
			return &exact.Error{Path: n.name, Want: fmt.Sprintf("must be a whole number from 0 to %d", n.most)}
		}
	}
	return nil
}

// Check returns an error that names an invalid field of c.
func (c *Call) Check() error {
	if err := c.Usage.Check(); err != nil {
		return fmt.Errorf("usage.%w", err)
	}
	if !(c.Cost >= 0 && c.Cost <= maxCost) {
		return &exact.Error{Path: "cost", Want: fmt.Sprintf("must be a number from 0 to %g", maxCost)}
	}
	if err := checkTokens("expected", c.Expected); err != nil {
		return err
	}
	if c.Step < 0 || c.Step > maxStep {
		return &exact.Error{Path: "step", Want: fmt.Sprintf("must be a whole number from 0 to %d", maxStep)}
	}
	if err := c.checkEnd(); err != nil {
		return err
	}
	for field, counts := range map[string]map[string]int{"categories": c.Categories, "documents": c.Documents} {
		for name, n := range counts {
			if err := checkTokens(field+"."+clip.Name(name), n); err != nil {
				return err
			}
		}
	}
	return nil
}

// Context returns all tokens of the input, cached or not.
func (u Usage) Context() int { return u.Input + u.CacheRead + u.CacheWrite }

// Add returns the sums of u and v.
func (u Usage) Add(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Output + v.Output, u.CacheRead + v.CacheRead, u.CacheWrite + v.CacheWrite}
}

// The purposes of a model call.
const (
	PurposeTurn      = "turn"
	PurposeDetection = "detection"
	PurposeSummary   = "summary"
	PurposeFrontend  = "frontend" // made by a frontend and reported with context/commit
)

// Call is the usage log's row for one model call.
type Call struct {
	ID         string         `json:"id"`
	Turn       string         `json:"turnId,omitempty"`
	Step       int            `json:"step,omitempty"` // of the turn, from 1; 0 for a call that belongs to no step
	Purpose    string         `json:"purpose"`
	Model      string         `json:"model"` // provider/model
	Usage      Usage          `json:"usage"`
	Cost       float64        `json:"cost"`                 // US dollars
	Estimated  bool           `json:"estimated,omitempty"`  // usage was counted, because the provider did not report all of it
	Expected   int            `json:"expected"`             // tokens expected to be read from the cache
	Categories map[string]int `json:"categories,omitempty"` // counted tokens of the request, by category
	Documents  map[string]int `json:"documents,omitempty"`  // counted tokens of the documents, by name
	Phase      string         `json:"phase,omitempty"`      // of the profile
	At         time.Time      `json:"at"`

	Status     CallStatus `json:"status,omitempty"`       // empty: complete
	Attempts   int        `json:"attempts,omitempty"`     // requests that were sent, retries included; 0 for a complete call: 1
	Failure    *Failure   `json:"failure,omitempty"`      // why it failed or was stopped; nil if its user stopped it
	Duration   int64      `json:"durationMs,omitempty"`   // from sending the first request to the end; 0: not known
	FirstToken int64      `json:"firstTokenMs,omitempty"` // from sending the first request; 0: nothing arrived, or not known
}

// CallStatus is the way in which a model call ended.
type CallStatus string

// The ways in which a model call ends.
const (
	CallComplete CallStatus = "complete"
	CallStopped  CallStatus = "stopped" // by the user, or because the server stopped
	CallFailed   CallStatus = "failed"
)

// TellsCache reports whether the usage includes the reads and writes of the cache. The usage of a call that did not end can be
// an estimate, without them.
func (c *Call) TellsCache() bool {
	status, _ := c.Ended()
	return status == CallComplete || c.Usage.CacheRead+c.Usage.CacheWrite > 0
}

// Ended returns how a call ended, and the number of its requests. The row of an earlier version contains neither.
func (c *Call) Ended() (CallStatus, int) {
	if c.Status == "" || c.Status == CallComplete {
		return CallComplete, max(c.Attempts, 1)
	}
	return c.Status, c.Attempts
}

// Totals are a session's sums over its usage log.
type Totals struct {
	Calls int     `json:"calls"`
	Usage Usage   `json:"usage"`
	Cost  float64 `json:"cost"` // US dollars
}

// Partial is a saved chunk of a running step. Chunks are appended, never rewritten.
type Partial struct {
	Turn    string    `json:"turn"`
	Message string    `json:"messageId,omitempty"` // of the step; empty for Turn.ReplyID
	N       int       `json:"n"`                   // from 0, in order, unique in the turn
	Kind    BlockType `json:"kind"`                // BlockText or BlockThinking
	Text    string    `json:"text"`
}

// File is the stored form of a file of a session. Only filecontext interprets State.
type File struct {
	Path   string
	State  json.RawMessage
	Buffer []byte // the client's unsaved text; nil if there is none
}

// Document is a named text of a session: rules, a design, types, tests, facts, or any other.
type Document struct {
	Name     string    `json:"name"`
	Text     string    `json:"text"`
	Priority int       `json:"priority"` // the lowest is evicted first
	Pinned   bool      `json:"pinned,omitempty"`
	Phases   []string  `json:"phases,omitempty"` // modes in which it is shown; none: in all
	Status   string    `json:"status,omitempty"` // of a unit of work
	Order    int       `json:"order,omitempty"`  // of a unit among the units
	Path     string    `json:"path,omitempty"`   // of the file that contains a unit
	At       time.Time `json:"at"`

	Implementation string `json:"implementation,omitempty"` // of a unit
}

// Checkpoint is a name for a sequence number of a session.
type Checkpoint struct {
	ID   string    `json:"checkpointId"` // cp_ + ULID
	Seq  int64     `json:"seq"`
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

// Compaction is the stored record of a session's newest compaction.
type Compaction struct {
	ID      string    `json:"id"`      // cmp_ + ULID
	Outcome string    `json:"outcome"` // CompactionRunning while it runs
	At      time.Time `json:"at"`
	Seq     int64     `json:"seq"` // newest sequence number at that time

	// The state of compaction.Backoff.
	Fruitless int `json:"fruitless,omitempty"`
	Tokens    int `json:"tokens,omitempty"`
}

// CompactionRunning is the outcome of a compaction that has not ended. If a starting server finds it in its store, the
// previous server has crashed.
const CompactionRunning = "running"

// Blob is a rendered entry of a request, kept while a layout refers to it, or the content of a changed file.
type Blob struct {
	Hash  string // SHA-256 of Bytes, in hex
	Bytes []byte
}

// Calibration is the stored correction of a model's token counts.
type Calibration struct {
	Model  string  // provider/model
	Ratio  float64 // reported tokens per counted token
	Weight float64 // of Ratio, in calls; bounded
}

// Change is a transaction of one session. It is stored atomically. Zero fields change nothing.
type Change struct {
	Session string // id

	Create  *Session // a new session
	Update  *Session // title, config, folders and UpdatedAt of an existing one
	Begin   *Turn    // a turn that starts
	End     *Turn    // a turn that ends: status, stop reason, failure, usage, ReplyID (empty: unchanged); its partials are deleted
	Partial *Partial // without effect if its message is stored

	// DropPartials is the id of a running turn whose saved chunks are deleted, because Messages contains their step.
	DropPartials string

	Messages []Message
	Edits    []Edit
	Calls    []Call
	Requests []Request // of Calls; they must not be modified afterwards

	PutFiles    []File
	DropFiles   []string      // paths
	Layout      *LayoutChange // nil keeps the stored one
	Blobs       []Blob
	KeepBlobs   []string // with Layout: hashes of all its blobs; the session's other blobs are dropped; nil drops none
	Calibration *Calibration

	PutDocuments  []Document
	DropDocuments []string // names

	PutCheckpoints  []Checkpoint
	DropCheckpoints []string // ids

	Compaction *Compaction // replaces the stored one

	PutFileChanges []FileChange // new ones, and stored ones with new states
	FileImages     []Blob       // contents of their files before and after
}

// Loaded is the part of a session that is kept in memory.
type Loaded struct {
	Session     Session
	Heads       []Head       // by Seq
	Edits       []Edit       // by Seq
	Files       []File       // by Path
	Documents   []Document   // by Name
	Checkpoints []Checkpoint // by Seq, then At
	Layout      Layout       // zero if there is none
	Totals      Totals
	Compaction  *Compaction // the newest one; nil if there was none
	Unfinished  *Turn       // the turn that was running when the previous server ended, with the usage of its stored steps
	Partials    []Partial   // of the running step of Unfinished, by N

	Planned []FileChange // whose effect is not known, in their order: the previous server has crashed
}
