package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// The bounds of a message's meta.
const (
	MaxMetaBytes   = 64 << 10
	maxMetaMarkers = 50
	maxMetaFiles   = 500
	maxMetaText    = 1000 // bytes of a marker, a path and a tool's name
)

// Meta is what is known of the fields of a message's meta: how far the answer brought the work. A client may
// attach more than that, or no object at all; it is stored and means nothing here.
type Meta struct {
	ProgressScore   float64  `json:"progressScore"`   // as the client scores it, 0 or more
	ProgressMarkers []string `json:"progressMarkers"` // what is done now that was not before
	FileChanges     []string `json:"fileChanges"`     // paths of the files that were changed
	DurationSeconds float64  `json:"durationSeconds"`
	Tool            string   `json:"tool"` // with which the work was done
}

// ParseMeta reads and checks a message's meta. What is no object is the zero Meta.
func ParseMeta(raw json.RawMessage) (Meta, error) {
	if len(raw) > MaxMetaBytes {
		return Meta{}, fmt.Errorf("%d bytes, at most %d are taken", len(raw), MaxMetaBytes)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return Meta{}, nil
	}
	var m Meta
	if err := json.Unmarshal(raw, &m); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return Meta{}, fmt.Errorf("%s: a %s is not taken", wrong.Field, wrong.Value)
		}
		return Meta{}, errors.New("it is no JSON")
	}
	return m, m.check()
}

func (m *Meta) check() error {
	switch {
	case m.ProgressScore < 0:
		return fmt.Errorf("progressScore: %v is below 0", m.ProgressScore)
	case m.DurationSeconds < 0:
		return fmt.Errorf("durationSeconds: %v is below 0", m.DurationSeconds)
	case len(m.Tool) > maxMetaText:
		return fmt.Errorf("tool: %d bytes, at most %d are taken", len(m.Tool), maxMetaText)
	}
	if err := checkTexts("progressMarkers", m.ProgressMarkers, maxMetaMarkers); err != nil {
		return err
	}
	return checkTexts("fileChanges", m.FileChanges, maxMetaFiles)
}

func checkTexts(name string, texts []string, most int) error {
	if len(texts) > most {
		return fmt.Errorf("%s: %d, at most %d are taken", name, len(texts), most)
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" || len(text) > maxMetaText {
			return fmt.Errorf("%s[%d]: between 1 and %d bytes are wanted", name, i, maxMetaText)
		}
	}
	return nil
}
