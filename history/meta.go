package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"strata/internal/exact"
)

// The bounds of a message's meta.
const (
	MaxMetaBytes   = 64 << 10
	maxMetaMarkers = 50
	maxMetaFiles   = 500
	maxMetaText    = 1000 // bytes of a marker, a path or a tool name
)

// Meta holds the known fields of a message's meta, which describe the progress made by a reply. A client may attach
// other fields or other JSON, which is stored but not interpreted.
type Meta struct {
	ProgressScore   float64  `json:"progressScore"`   // assigned by the client, 0 or more
	ProgressMarkers []string `json:"progressMarkers"` // completed work
	FileChanges     []string `json:"fileChanges"`     // paths of changed files
	DurationSeconds float64  `json:"durationSeconds"`
	Tool            string   `json:"tool"` // name of the tool used
}

// ParseMeta decodes and validates a message's meta. If raw is not an object, it returns the zero Meta.
func ParseMeta(raw json.RawMessage) (Meta, error) {
	if len(raw) > MaxMetaBytes {
		return Meta{}, fmt.Errorf("meta: %d bytes exceeds the limit of %d", len(raw), MaxMetaBytes)
	}
	if !bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) {
		return Meta{}, nil
	}
	var m Meta
	if err := exact.Decode(raw, "meta", &m); err != nil {
		return Meta{}, err
	}
	return m, m.check()
}

func (m *Meta) check() error {
	switch {
	case m.ProgressScore < 0:
		return fmt.Errorf("meta.progressScore: %v is negative", m.ProgressScore)
	case m.DurationSeconds < 0:
		return fmt.Errorf("meta.durationSeconds: %v is negative", m.DurationSeconds)
	case len(m.Tool) > maxMetaText:
		return fmt.Errorf("meta.tool: %d bytes exceeds the limit of %d", len(m.Tool), maxMetaText)
	}
	if err := checkTexts("meta.progressMarkers", m.ProgressMarkers, maxMetaMarkers); err != nil {
		return err
	}
	return checkTexts("meta.fileChanges", m.FileChanges, maxMetaFiles)
}

func checkTexts(name string, texts []string, most int) error {
	if len(texts) > most {
		return fmt.Errorf("%s: %d elements exceeds the limit of %d", name, len(texts), most)
	}
	for i, text := range texts {
		if strings.TrimSpace(text) == "" || len(text) > maxMetaText {
			return fmt.Errorf("%s[%d]: length must be between 1 and %d bytes", name, i, maxMetaText)
		}
	}
	return nil
}
