package server

import (
	"encoding/json"
	"time"
)

// The types of the Agent Client Protocol, version 1, as far as Strata serves it.
// Field names and shapes are those of its published schema.

const protocolVersion = 1

type implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

type initializeParams struct {
	ProtocolVersion    *int            `json:"protocolVersion"`
	ClientInfo         *implementation `json:"clientInfo"`
	ClientCapabilities struct {
		Session *struct {
			Compaction *struct{} `json:"compaction"`
			Notices    *struct{} `json:"notices"`
		} `json:"session"`
	} `json:"clientCapabilities"`
}

type initializeResult struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities agentCapabilities `json:"agentCapabilities"`
	AgentInfo         implementation    `json:"agentInfo"`
	AuthMethods       []struct{}        `json:"authMethods"`
}

type agentCapabilities struct {
	LoadSession         bool                `json:"loadSession"`
	PromptCapabilities  promptCapabilities  `json:"promptCapabilities"`
	MCPCapabilities     mcpCapabilities     `json:"mcpCapabilities"`
	SessionCapabilities sessionCapabilities `json:"sessionCapabilities"`
	Meta                capabilitiesMeta    `json:"_meta"`
}

type promptCapabilities struct {
	Image           bool `json:"image"`
	Audio           bool `json:"audio"`
	EmbeddedContext bool `json:"embeddedContext"`
}

type mcpCapabilities struct {
	HTTP bool `json:"http"`
	SSE  bool `json:"sse"`
}

type sessionCapabilities struct {
	List                  struct{} `json:"list"`
	Resume                struct{} `json:"resume"`
	Close                 struct{} `json:"close"`
	Delete                struct{} `json:"delete"`
	Fork                  struct{} `json:"fork"`
	AdditionalDirectories struct{} `json:"additionalDirectories"`
}

type capabilitiesMeta struct {
	Strata extensionCapabilities `json:"strata"`
}

type extensionCapabilities struct {
	Version       string   `json:"version"`
	Methods       []string `json:"methods"`
	Notifications []string `json:"notifications"`
}

// folderParams are the folders that a session is opened with.
type folderParams struct {
	CWD        *string           `json:"cwd"`
	Further    []string          `json:"additionalDirectories"`
	MCPServers []json.RawMessage `json:"mcpServers"`
}

type newSessionParams struct {
	folderParams
}

type openSessionParams struct {
	sessionParams
	folderParams
	Meta struct {
		Strata struct {
			Model string `json:"model"` // chosen for the session on the way in
		} `json:"strata"`
	} `json:"_meta"`
}

type sessionParams struct {
	SessionID string `json:"sessionId"`
}

type newSessionResult struct {
	SessionID     string         `json:"sessionId"`
	Modes         *modeState     `json:"modes,omitempty"`
	ConfigOptions []configOption `json:"configOptions"`
}

type configOptionsResult struct {
	Modes         *modeState     `json:"modes,omitempty"`
	ConfigOptions []configOption `json:"configOptions"`
	Meta          any            `json:"_meta,omitempty"`
}

type configOption struct {
	ID           string        `json:"id"`
	Name         string        `json:"name"`
	Description  string        `json:"description,omitempty"`
	Category     string        `json:"category,omitempty"`
	Type         string        `json:"type"`
	CurrentValue string        `json:"currentValue"`
	Options      []configValue `json:"options"`
}

type configValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

type setConfigParams struct {
	sessionParams
	ConfigID string `json:"configId"`
	Value    string `json:"value"`
}

type listParams struct {
	CWD    string `json:"cwd"`
	Cursor string `json:"cursor"`
}

type listResult struct {
	Sessions   []sessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

type sessionInfo struct {
	SessionID string    `json:"sessionId"`
	CWD       string    `json:"cwd"`
	Further   []string  `json:"additionalDirectories,omitempty"`
	Title     string    `json:"title,omitempty"`
	UpdatedAt time.Time `json:"updatedAt"`
	Meta      any       `json:"_meta,omitempty"`
}

type promptParams struct {
	sessionParams
	Prompt []contentBlock `json:"prompt"`
	Meta   struct {
		Strata struct {
			PromptID string `json:"promptId"`
		} `json:"strata"`
	} `json:"_meta"`
}

type promptResult struct {
	StopReason string     `json:"stopReason"`
	Meta       promptMeta `json:"_meta"`
}

type promptMeta struct {
	Strata promptOutcome `json:"strata"`
}

type cancelParams struct {
	sessionParams
	Meta struct {
		Strata struct {
			TurnID string `json:"turnId"`
		} `json:"strata"`
	} `json:"_meta"`
}

type cancelRequestParams struct {
	RequestID json.RawMessage `json:"requestId"`
}

// contentBlock is a block of a prompt or of a message.
type contentBlock struct {
	Type     string            `json:"type"`
	Text     *string           `json:"text,omitempty"`
	Data     []byte            `json:"data,omitempty"`
	MIMEType string            `json:"mimeType,omitempty"`
	URI      string            `json:"uri,omitempty"`
	Name     string            `json:"name,omitempty"`
	Resource *embeddedResource `json:"resource,omitempty"`
}

type embeddedResource struct {
	URI      string  `json:"uri"`
	MIMEType string  `json:"mimeType,omitempty"`
	Text     *string `json:"text,omitempty"`
	Blob     []byte  `json:"blob,omitempty"`
}

// sessionNotification is the parameter of session/update.
type sessionNotification struct {
	SessionID string     `json:"sessionId"`
	Update    any        `json:"update"`
	Meta      updateMeta `json:"_meta"`
}

type updateMeta struct {
	Strata placeMeta `json:"strata"`
}

// placeMeta says where in a session's events a notification stands. First is there where deltas were
// merged; Seq is missing from what is replayed out of the transcript.
type placeMeta struct {
	Epoch  string `json:"epoch"`
	First  uint64 `json:"first,omitempty"`
	Seq    uint64 `json:"seq,omitempty"`
	Replay bool   `json:"replay,omitempty"`
}

type chunkUpdate struct {
	Kind      string       `json:"sessionUpdate"`
	Content   contentBlock `json:"content"`
	MessageID string       `json:"messageId"`
}

type toolCallUpdate struct {
	Kind     string        `json:"sessionUpdate"`
	ID       string        `json:"toolCallId"`
	Title    string        `json:"title,omitempty"`
	ToolKind string        `json:"kind,omitempty"`
	Status   string        `json:"status"`
	Input    any           `json:"rawInput,omitempty"`
	Content  []toolContent `json:"content,omitempty"`
}

type toolContent struct {
	Type    string       `json:"type"`
	Content contentBlock `json:"content"`
}

type usageUpdate struct {
	Kind string `json:"sessionUpdate"`
	Used int    `json:"used"`
	Size int    `json:"size"`
	Cost cost   `json:"cost"`
}

type cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

type infoUpdate struct {
	Kind      string    `json:"sessionUpdate"`
	Title     string    `json:"title"`
	UpdatedAt time.Time `json:"updatedAt"`
}

type optionsUpdate struct {
	Kind    string         `json:"sessionUpdate"`
	Options []configOption `json:"configOptions"`
}

type noticeUpdate struct {
	Kind     string `json:"sessionUpdate"`
	Severity string `json:"severity"`
	Title    string `json:"title"`
}
