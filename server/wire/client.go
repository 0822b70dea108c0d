package wire

import (
	"encoding/json"
	"errors"
)

// MethodReadTextFile is ACP's request to an editor for a file as the editor shows it.
const MethodReadTextFile = "fs/read_text_file"

// ReadTextFileParams are the parameters of fs/read_text_file.
type ReadTextFileParams struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      int    `json:"line,omitempty"`  // from 1
	Limit     int    `json:"limit,omitempty"` // maximum number of lines
}

// ReadTextFileContent returns the text in a result of fs/read_text_file.
func ReadTextFileContent(result json.RawMessage) (string, error) {
	var read struct {
		Content *string `json:"content"`
	}
	if json.Unmarshal(result, &read) != nil || read.Content == nil {
		return "", errors.New("result.content must be text")
	}
	return *read.Content, nil
}
