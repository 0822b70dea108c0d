package wire

import (
	"strata/rpc"
	"strata/session/commands"
)

// CommandsUpdate lists the commands that a user can type in a prompt.
type CommandsUpdate struct {
	Kind     string             `json:"sessionUpdate"`
	Commands []AvailableCommand `json:"availableCommands"`
}

// AvailableCommand is a command of a CommandsUpdate.
type AvailableCommand struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *CommandInput `json:"input,omitempty"` // absent for a command without arguments
}

// CommandInput describes the arguments of a command.
type CommandInput struct {
	Hint string `json:"hint"`
}

// NewCommandsUpdate returns the update for the commands of a session.
func NewCommandsUpdate(all []commands.Command) CommandsUpdate {
	update := CommandsUpdate{Kind: "available_commands_update", Commands: make([]AvailableCommand, len(all))}
	for i, c := range all {
		update.Commands[i] = AvailableCommand{Name: c.Name, Description: c.Description}
		if c.Hint != "" {
			update.Commands[i].Input = &CommandInput{Hint: c.Hint}
		}
	}
	return update
}

// Aside returns a notification of an update that is no event of the session and so has no sequence number.
func (c *Encoder) Aside(update any) (rpc.Notification, error) {
	return c.aside(update, Position{Epoch: c.Epoch})
}

// CommandOutput returns the notification of what a command shows, as a message with an id of its own. The id of the prompt
// may be empty.
func (c *Encoder) CommandOutput(name, promptID, messageID, text string) (rpc.Notification, error) {
	update := ChunkUpdate{Kind: chunkOfReply, Content: textBlock(text), MessageID: messageID}
	return c.aside(update, Position{Epoch: c.Epoch, Command: name, PromptID: promptID})
}

func (c *Encoder) aside(update any, at Position) (rpc.Notification, error) {
	params := SessionNotification{SessionID: c.SessionID, Update: update}
	params.Meta.Strata = at
	return notification(MethodUpdate, 0, params)
}

// CommandResult is the result of session/prompt for a command that is not a turn.
type CommandResult struct {
	StopReason string `json:"stopReason"` // end_turn or cancelled
	Meta       struct {
		Strata struct {
			Command string `json:"command"`
		} `json:"strata"`
	} `json:"_meta"`
}

// NewCommandResult returns the result of a command.
func NewCommandResult(name string, cancelled bool) CommandResult {
	result := CommandResult{StopReason: "end_turn"}
	if cancelled {
		result.StopReason = "cancelled"
	}
	result.Meta.Strata.Command = name
	return result
}
