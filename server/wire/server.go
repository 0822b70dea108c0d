package wire

import (
	"time"

	"strata/rpc"
	"strata/session/following"
)

// Model is a model on offer.
type Model struct {
	Name      string   `json:"name"` // provider/model
	Title     string   `json:"title"`
	Window    int      `json:"window"`    // tokens
	MaxOutput int      `json:"maxOutput"` // tokens
	Vision    bool     `json:"vision"`
	Thought   []string `json:"thoughtLevels"`
	Known     bool     `json:"known"`           // false: window and maxOutput are assumed defaults
	Price     *Price   `json:"price,omitempty"` // absent if it is unknown
}

// Price is the price of a model in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"` // of the short lifetime
}

// Provider is a configured provider. It never contains the key.
type Provider struct {
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	BaseURL   string `json:"baseUrl,omitempty"`
	KeyEnv    string `json:"keyEnv,omitempty"`
	KeySource string `json:"key"` // not_needed, memory, env, stored, offered, missing
}

// ServerInfo is the result of _strata/server/info.
type ServerInfo struct {
	Version     string    `json:"version"`
	Go          string    `json:"go"`
	StartedAt   time.Time `json:"startedAt"`
	Address     Address   `json:"address"`
	LogFile     string    `json:"logFile,omitempty"`    // path
	Executable  string    `json:"executable,omitempty"` // path of the program
	Database    Database  `json:"database"`
	Model       string    `json:"model"` // default for sessions
	Models      []Model   `json:"models"`
	Limits      Limits    `json:"limits"`
	Connections int       `json:"connections"`
	Loaded      int       `json:"sessionsInMemory"`

	MCPServers []MCPServer `json:"mcpServers"` // by name
}

// Address tells how an editor connects: by the server file, or with the address and the token.
type Address struct {
	WebSocket  string `json:"webSocket"`
	ServerFile string `json:"serverFile,omitempty"` // path; absent if none is written
	TokenFile  string `json:"tokenFile,omitempty"`  // path; absent if the token is in no file
}

// Database describes the database.
type Database struct {
	Path     string `json:"path"`
	Bytes    int64  `json:"bytes"`
	WALBytes int64  `json:"walBytes"`
	Sessions int    `json:"sessions"`
	Messages int    `json:"messages"`
}

// Limits are the bounds of the server.
type Limits struct {
	FrameBytes    int64 `json:"frameBytes"`
	Connections   int   `json:"connections"`
	Requests      int   `json:"requests"`
	Subscriptions int   `json:"subscriptions"`
	Sessions      int   `json:"sessions"`
	EventsKept    int   `json:"eventsKept"`
	RetentionSec  int64 `json:"retentionSeconds"`
}

// ServerEvent is a notification _strata/server/event: the newest state of one session, the counts, or that
// the MCP servers in the server's info have changed.
type ServerEvent struct {
	Type     string       `json:"type"` // created, renamed, state, deleted, purged, counts, mcp_servers, budget, reset
	ID       string       `json:"sessionId,omitempty"`
	State    string       `json:"state,omitempty"`
	Activity *Activity    `json:"activity,omitempty"` // of a session that is not idle
	Ended    *EndedTurn   `json:"ended,omitempty"`    // a turn that has ended since the event before
	Session  *SessionInfo `json:"session,omitempty"`
	Counts   *Counts      `json:"counts,omitempty"`
	Budget   *BudgetState `json:"budget,omitempty"`
	Text     string       `json:"text,omitempty"` // for the user: the warning about the budget
}

// Activity is what a session that is not idle does.
type Activity struct {
	Kind  string    `json:"kind"`            // waiting, thinking, answering, calling, asking, compacting
	Title string    `json:"title,omitempty"` // of a call
	Since time.Time `json:"since"`
}

// EndedTurn is a turn that has ended.
type EndedTurn struct {
	TurnID string `json:"turnId"`
	Status string `json:"status"` // as in turn_finished
}

// StateEvent returns the event that a session does something else.
func StateEvent(id string, d following.Doing) ServerEvent {
	e := ServerEvent{Type: "state", ID: id, State: string(d.State), Activity: newActivity(d.Activity)}
	if d.Ended != nil {
		e.Ended = &EndedTurn{TurnID: d.Ended.TurnID, Status: d.Ended.Status}
	}
	return e
}

func newActivity(a following.Activity) *Activity {
	if a.Kind == "" {
		return nil
	}
	return &Activity{Kind: string(a.Kind), Title: a.Title, Since: a.Since.UTC()}
}

// Notification returns the event as a notification.
func (e *ServerEvent) Notification() (rpc.Notification, error) {
	return notification(MethodServerEvent, 0, e)
}

// Counts are the gauges of a server.
type Counts struct {
	Connections   int    `json:"connections"`
	Sessions      int    `json:"sessionsInMemory"`
	Writing       int    `json:"writesWaiting"`
	Replies       int    `json:"repliesWaiting"`
	DatabaseBytes int64  `json:"databaseBytes"`
	Storage       string `json:"storage,omitempty"` // why nothing can be stored; absent if it can
}
