package acpcheck

import (
	"testing"

	"strata/internal/binary"
)

// A model calls the tools of an MCP server that the editor names, which a session that is loaded after a restart shows.
func TestServersOfAnEditor(t *testing.T) {
	inEditors(t, "servers-check.mjs", actingHome, binary.Options{})
}
