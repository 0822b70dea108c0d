package acpcheck

import (
	"testing"

	"strata/internal/binary"
)

// A model's commands run in terminals of the editor, which sees each created, shown and released once, and of the server for an
// editor without terminals. Other windows see the output as text, as does a session that is loaded after a restart.
func TestCommandsInAnEditor(t *testing.T) {
	inEditors(t, "terminals-check.mjs", actingHome, binary.Options{})
}
