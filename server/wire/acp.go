package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"strata/history"
	"strata/internal/clip"
	"strata/session"
	"strata/session/fit"
	"strata/session/following"
	"strata/session/toolbox"
)

// The types of the Agent Client Protocol, version 1, as far as Strata serves it, are in this file, content.go,
// options.go and update.go. Names and shapes of their fields are those of the published schema.

// ProtocolVersion is the version of ACP that Strata serves.
const ProtocolVersion = 1

// Implementation identifies a client or an agent.
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// InitializeParams are the parameters of initialize.
type InitializeParams struct {
	ProtocolVersion    int             `json:"protocolVersion" need:"value"`
	ClientInfo         *Implementation `json:"clientInfo"`
	ClientCapabilities struct {
		Session *struct {
			Compaction *struct{} `json:"compaction"`
			Notices    *struct{} `json:"notices"`
		} `json:"session"`
		Auth struct {
			Terminal bool `json:"terminal"`
		} `json:"auth"`
		FS struct {
			ReadTextFile  bool `json:"readTextFile"`
			WriteTextFile bool `json:"writeTextFile"`
		} `json:"fs"`
		Terminal bool `json:"terminal"`
		Meta     struct {
			Strata *struct {
				Permission bool `json:"permission"`
				Workspace  bool `json:"workspace"`
			} `json:"strata"` // of a client that knows Strata
		} `json:"_meta"`
	} `json:"clientCapabilities"`
}

// Capabilities returns what the client can do.
func (p *InitializeParams) Capabilities() Capabilities {
	can := &p.ClientCapabilities
	c := Capabilities{
		TerminalAuth: can.Auth.Terminal,
		ReadFiles:    can.FS.ReadTextFile, WriteFiles: can.FS.WriteTextFile, Terminals: can.Terminal,
	}
	c.Permissions = can.Meta.Strata == nil || can.Meta.Strata.Permission
	c.Workspaces = can.Meta.Strata != nil && can.Meta.Strata.Workspace && c.ReadFiles && c.WriteFiles
	if s := can.Session; s != nil {
		c.Compaction, c.Notices = s.Compaction != nil, s.Notices != nil
	}
	return c
}

// Capabilities are the optional updates that a client can show, the optional ways in which it can sign in, and the
// requests of the server that it serves.
type Capabilities struct {
	Compaction bool // compaction_update and compaction_summary_chunk
	Notices    bool // notice

	TerminalAuth bool // it can run its agent's command in a terminal

	ReadFiles  bool // fs/read_text_file
	WriteFiles bool // fs/write_text_file
	Terminals  bool // terminal/create and all others of terminals

	Workspaces  bool // _strata/workspace/list, delete and move, with ReadFiles and WriteFiles
	Permissions bool // session/request_permission, as all clients of ACP; one that knows Strata says so
}

// InitializeResult is the result of initialize.
type InitializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	AgentInfo         Implementation    `json:"agentInfo"`
	AuthMethods       []AuthMethod      `json:"authMethods"`
}

// AgentCapabilities are the optional parts of ACP that Strata serves.
type AgentCapabilities struct {
	LoadSession        bool `json:"loadSession"`
	PromptCapabilities struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	} `json:"promptCapabilities"`
	MCPCapabilities struct {
		HTTP bool `json:"http"`
		SSE  bool `json:"sse"`
	} `json:"mcpCapabilities"`
	SessionCapabilities struct {
		List                  struct{} `json:"list"`
		Resume                struct{} `json:"resume"`
		Close                 struct{} `json:"close"`
		Delete                struct{} `json:"delete"`
		Fork                  struct{} `json:"fork"`
		AdditionalDirectories struct{} `json:"additionalDirectories"`
	} `json:"sessionCapabilities"`
	Meta struct {
		Strata Extensions `json:"strata"`
	} `json:"_meta"`
}

// Extensions are the methods and notifications that ACP does not define, and the limit that clients need to know.
type Extensions struct {
	Version       string      `json:"version"`
	Methods       []string    `json:"methods"`
	Notifications []string    `json:"notifications"`
	Limits        FrameLimits `json:"limits"`
}

// FrameLimits bound the frames of a client.
type FrameLimits struct {
	FrameBytes int64 `json:"frameBytes"`
}

// Agent is what initialize tells of a server.
type Agent struct {
	Version    string
	Methods    []string // extension methods
	FrameBytes int64    // maximum size of a client's frame
	Auth       []AuthMethod
}

// NewInitializeResult returns the result of initialize.
func NewInitializeResult(a Agent) InitializeResult {
	result := InitializeResult{
		ProtocolVersion: ProtocolVersion,
		AgentInfo:       Implementation{Name: "strata", Title: "Strata", Version: a.Version},
		AuthMethods:     a.Auth,
	}
	c := &result.AgentCapabilities
	c.LoadSession = true
	c.MCPCapabilities.HTTP = true
	c.PromptCapabilities.Image, c.PromptCapabilities.EmbeddedContext = true, true
	c.Meta.Strata = Extensions{
		Version: a.Version, Methods: a.Methods, Notifications: []string{MethodEvent, MethodServerEvent},
		Limits: FrameLimits{FrameBytes: a.FrameBytes},
	}
	return result
}

// SessionParams name the session that a request is about.
type SessionParams struct {
	SessionID string `json:"sessionId" need:"content"`
}

// Session returns the id of the session, not validated.
func (p SessionParams) Session() string { return p.SessionID }

// FolderParams are the folders that a session works in.
type FolderParams struct {
	CWD        string     `json:"cwd" need:"content"`
	Further    []string   `json:"additionalDirectories"`
	MCPServers MCPServers `json:"mcpServers"`
}

// Record returns a new session in these folders. check returns the cleaned path of a folder, or an error that is a
// predicate, "is not an absolute path".
func (p *FolderParams) Record(check func(dir string) (string, error)) (record history.Session, err error) {
	checked := func(field, dir string) (string, error) {
		clean, err := check(dir)
		if err != nil {
			return "", InvalidParams("params.%s: %s %s", field, clip.Name(dir), err)
		}
		return clean, nil
	}
	if record.CWD, err = checked("cwd", p.CWD); err != nil {
		return record, err
	}
	for i, dir := range p.Further {
		clean, err := checked(fmt.Sprintf("additionalDirectories[%d]", i), dir)
		if err != nil {
			return record, err
		}
		record.Roots = append(record.Roots, clean)
	}
	return record, nil
}

// NewSessionParams are the parameters of session/new.
type NewSessionParams struct {
	FolderParams
	Meta struct {
		Strata struct {
			DeclaringMeta
			HeldWorkspace
		} `json:"strata"`
	} `json:"_meta"`
}

func (p *NewSessionParams) validate() error { return p.Meta.Strata.check("params._meta.strata") }

// Record returns a new session. check is that of FolderParams.Record, for folders on disk; the folder of a client's workspace
// is only a name.
func (p *NewSessionParams) Record(check func(dir string) (string, error)) (history.Session, error) {
	if p.Meta.Strata.Workspace != history.WorkspaceClient {
		return p.FolderParams.Record(check)
	}
	if len(p.Further) > 0 {
		return history.Session{}, InvalidParams("params.additionalDirectories: a workspace of the client has one folder")
	}
	if err := p.validate(); err != nil { // of an import
		return history.Session{}, err
	}
	record, err := p.FolderParams.Record(nameOfFolder)
	record.Config.Workspace, record.Config.WorkspaceID = p.Meta.Strata.Workspace, p.Meta.Strata.WorkspaceID
	return record, err
}

// nameOfFolder returns the cleaned path of a folder that need not be on disk. The error is that of FolderParams.Record.
func nameOfFolder(dir string) (string, error) {
	if !path.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return "", errors.New("is not an absolute path")
	}
	return path.Clean(dir), nil
}

// Declaration returns the tools that the client declares, nil if it declares nothing.
func (p *NewSessionParams) Declaration() (*toolbox.Declaration, error) {
	return p.Meta.Strata.Declaration()
}

// OpenSessionParams are the parameters of session/load, session/resume and session/fork.
type OpenSessionParams struct {
	SessionParams
	FolderParams
	Meta struct {
		Strata struct {
			Model string `json:"model"` // chosen for the session when it is opened
			Moved bool   `json:"moved"` // cwd is the new folder of the session
			HeldWorkspace
		} `json:"strata"`
	} `json:"_meta"`
}

func (p *OpenSessionParams) validate() error { return p.Meta.Strata.check("params._meta.strata") }

// NewSessionResult is the result of session/new and session/fork.
type NewSessionResult struct {
	SessionID     string         `json:"sessionId"`
	Modes         *ModeState     `json:"modes,omitempty"`
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// ForkResult is the result of _strata/session/fork.
type ForkResult struct {
	NewSessionResult
	Seq int64 `json:"seq"` // of the forked state
}

// ListParams are the parameters of session/list.
type ListParams struct {
	CWD    string `json:"cwd"`
	Cursor string `json:"cursor"`
	Meta   struct {
		Strata struct {
			HeldWorkspace
		} `json:"strata"`
	} `json:"_meta"`
}

func (p *ListParams) validate() error { return p.Meta.Strata.check("params._meta.strata") }

// Held returns the id of the files of clients whose sessions are requested, nil for all sessions.
func (p *ListParams) Held() *string {
	if !p.Meta.Strata.IsHeld() {
		return nil
	}
	return &p.Meta.Strata.WorkspaceID
}

// ListResult is the result of session/list.
type ListResult struct {
	Sessions   []SessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// SessionInfo is a session in a list.
type SessionInfo struct {
	SessionID string    `json:"sessionId"`
	CWD       string    `json:"cwd"`
	Further   []string  `json:"additionalDirectories,omitempty"`
	Title     string    `json:"title,omitempty"`
	UpdatedAt time.Time `json:"updatedAt"`
	Meta      *InfoMeta `json:"_meta,omitempty"`
}

// InfoMeta is the part of a session's entry that ACP does not define.
type InfoMeta struct {
	Strata struct {
		State    string    `json:"state,omitempty"`         // absent for idle
		Activity *Activity `json:"activity,omitempty"`      // absent for idle
		Folder   string    `json:"folder,omitempty"`        // the folder's path without links, if that is another one
		Missing  bool      `json:"folderMissing,omitempty"` // there is no such folder any more

		Workspace   string `json:"workspace,omitempty"` // client: the files are a client's, and cwd is only their name
		WorkspaceID string `json:"workspaceId,omitempty"`
	} `json:"strata"`
}

// NewSessionInfo returns the entry of a stored session.
func NewSessionInfo(s history.Session) SessionInfo {
	info := SessionInfo{SessionID: s.ID, CWD: s.CWD, Further: s.Roots, Title: s.Title, UpdatedAt: s.UpdatedAt.UTC()}
	if s.Config.IsRemote() {
		info.meta().Strata.Workspace, info.meta().Strata.WorkspaceID = s.Config.Workspace, s.Config.WorkspaceID
	}
	return info
}

// SetDoing adds what the session does to its entry.
func (i *SessionInfo) SetDoing(d following.Doing) {
	i.meta().Strata.State, i.meta().Strata.Activity = string(d.State), newActivity(d.Activity)
}

// SetFolder adds what is known of the session's folder to its entry: its path without links, and whether it is missing. It has
// no effect if a client has the files.
func (i *SessionInfo) SetFolder(real string, missing bool) {
	if i.Meta != nil && i.Meta.Strata.Workspace != "" {
		return
	}
	if real != i.CWD {
		i.meta().Strata.Folder = real
	}
	if missing {
		i.meta().Strata.Missing = true
	}
}

func (i *SessionInfo) meta() *InfoMeta {
	if i.Meta == nil {
		i.Meta = new(InfoMeta)
	}
	return i.Meta
}

// PromptParams are the parameters of session/prompt.
type PromptParams struct {
	SessionParams
	Prompt []ContentBlock `json:"prompt" need:"value"`
	Meta   struct {
		Strata struct {
			PromptID string          `json:"promptId"`
			Meta     json.RawMessage `json:"meta"` // of the user's message
			DeclaringMeta
		} `json:"strata"`
	} `json:"_meta"`
}

// PromptID returns the client's id of the prompt, empty if it has none.
func (p *PromptParams) PromptID() string { return p.Meta.Strata.PromptID }

// Attached returns the data that the client attaches to the prompt, nil for none.
func (p *PromptParams) Attached() json.RawMessage {
	if meta := p.Meta.Strata.Meta; string(meta) != "null" {
		return meta
	}
	return nil
}

// PromptResult is the result of session/prompt.
type PromptResult struct {
	StopReason string `json:"stopReason"`
	Meta       struct {
		Strata PromptOutcome `json:"strata"`
	} `json:"_meta"`
}

// PromptOutcome is the part of a prompt's result that ACP does not define.
type PromptOutcome struct {
	TurnID    string             `json:"turnId"`
	UserID    string             `json:"userMessageId"`
	MessageID string             `json:"messageId,omitempty"` // of the reply; absent if there is none
	Status    history.TurnStatus `json:"status"`              // completed, cancelled or interrupted
	Usage     history.Usage      `json:"usage"`
	Cost      float64            `json:"cost"` // US dollars
	LeftOut   []fit.Omitted      `json:"leftOut,omitempty"`
}

// NewPromptResult returns the result of session/prompt.
func NewPromptResult(p session.PromptResult) PromptResult {
	t := p.Turn
	result := PromptResult{StopReason: t.StopReason}
	result.Meta.Strata = PromptOutcome{
		TurnID: t.ID, UserID: t.UserID, MessageID: p.MessageID, Status: t.Status, Usage: t.Usage, Cost: t.Cost, LeftOut: p.LeftOut,
	}
	return result
}

// CancelParams are the parameters of session/cancel.
type CancelParams struct {
	SessionParams
	Meta struct {
		Strata struct {
			TurnID string `json:"turnId"` // cancel only this turn
		} `json:"strata"`
	} `json:"_meta"`
}

// CancelRequestParams are the parameters of $/cancel_request.
type CancelRequestParams struct {
	RequestID json.RawMessage `json:"requestId" need:"value"`
}
