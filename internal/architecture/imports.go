package architecture

import (
	"fmt"
	"slices"
	"strings"
)

// imports lists for each package, including its subfolders without their own rows, which others of this module it may
// import. The order is that of the architecture: packages may only import those below them.
var imports = map[string][]string{
	"server":       {"session/cachetime", "server/access", "server/bin", "server/past", "server/editor", "server/mcp", "session/servers", "server/wire", "server/transfer", "server/overview", "server/budgets", "server/monitors", "server/slash", "rpc", "session", "session/assembly", "session/choices", "session/clients", "session/commands", "session/compacting", "session/documents", "session/events", "session/finding", "session/fit", "session/following", "session/outlines", "session/permissions", "session/profile", "session/prompts", "session/restoring", "session/toolbox", "session/workspace", "compaction", "historystore", "historystore/outlines", "historystore/spending", "history", "web"},
	"session":      {"session/servers", "session/metered", "session/shell", "session/frontends", "session/record", "session/shelf", "session/following", "session/prompts", "session/finding", "session/accounts", "session/requests", "session/calls", "session/filechanges", "session/current", "session/toolbox", "session/tools", "session/permissions", "session/approval", "session/asking", "session/reads", "session/choices", "session/compacting", "session/assembly", "session/loop", "session/documents", "session/workspace", "session/outlines", "session/fit", "session/clients", "session/content", "session/events", "session/mailbox", "session/profile", "session/restoring", "session/saving", "filecontext", "stability", "compaction", "tokens", "llm", "history"},
	"compaction":   {"tokens", "history"},
	"filecontext":  {"filecontext/fileuri", "filecontext/outline", "filecontext/secrets", "filecontext/source", "tokens"},
	"stability":    {},
	"llm":          {"history"},
	"historystore": {"historystore/backup", "historystore/blobs", "historystore/body", "historystore/cache", "historystore/database", "historystore/disk", "historystore/finding", "historystore/fulltext", "historystore/heads", "historystore/lock", "historystore/outlines", "historystore/requests", "historystore/schema", "historystore/spending", "history"},
	"tokens":       {},
	"rpc":          {},
	"web":          {},
	"history":      {},

	"filecontext/change":        {"filecontext", "filecontext/source"},
	"filecontext/secrets":       {},
	"filecontext/fileuri":       {},
	"filecontext/source":        {},
	"filecontext/outline":       {},
	"filecontext/index":         {"filecontext", "filecontext/outline", "filecontext/outline/graph"},
	"filecontext/outline/graph": {"filecontext/outline"},
	"filecontext/outline/text":  {"filecontext/outline"},

	"historystore/backup":   {"historystore/database", "historystore/disk", "historystore/lock", "historystore/schema"},
	"historystore/blobs":    {"history"},
	"historystore/body":     {"history"},
	"historystore/database": {"historystore/disk", "historystore/schema", "history"},
	"historystore/disk":     {},
	"historystore/finding":  {"historystore/body", "historystore/fulltext", "history"},
	"historystore/fulltext": {},
	"historystore/heads":    {"history"},
	"historystore/cache":    {},
	"historystore/lock":     {},
	"historystore/mend":     {"historystore/database", "historystore/disk", "historystore/lock"},
	"historystore/outlines": {},
	"historystore/requests": {"history"},
	"historystore/schema":   {},

	"historystore/spending": {"history"},
	"server/access":         {},
	"server/compare":        {"history"},
	"server/past":           {"server/compare", "server/wire", "llm", "historystore", "history"},
	"server/budgets":        {"server/overview", "server/wire", "historystore/spending"},
	"server/monitors":       {"server/wire", "rpc", "session/following", "history"},
	"server/overview":       {"server/wire", "historystore/spending", "history"},
	"server/bin":            {"server/wire", "historystore", "history"},
	"server/editor":         {"server/wire", "rpc", "session/clients"},
	"server/mcp":            {"session/servers", "history"},
	"server/slash":          {"session", "session/assembly", "session/choices", "session/commands", "session/compacting", "session/restoring", "session/workspace", "compaction", "filecontext", "history"},
	"server/transfer":       {"server/wire", "rpc", "session", "session/assembly", "session/choices", "session/compacting", "session/documents", "session/events", "session/fit", "session/profile", "session/workspace", "historystore", "history"},
	"server/wire":           {"rpc", "session/servers", "session", "session/approval", "session/assembly", "session/choices", "session/clients", "session/commands", "session/compacting", "session/documents", "session/events", "session/finding", "session/fit", "session/following", "session/profile", "session/prompts", "session/restoring", "session/toolbox", "session/tools", "session/workspace", "compaction", "llm", "historystore", "history"},

	"session/cachetime":   {"session/assembly", "stability", "llm", "history"},
	"session/metered":     {"session/assembly", "llm", "history"},
	"session/frontends":   {"session/accounts", "session/requests", "session/current", "session/compacting", "session/choices", "session/assembly", "session/workspace", "session/content", "session/events", "session/mailbox", "llm", "tokens", "history"},
	"session/finding":     {"session/current", "session/assembly", "session/fit", "session/content", "session/mailbox", "filecontext", "stability", "history"},
	"session/prompts":     {"session/requests", "session/compacting", "session/assembly", "session/workspace", "session/fit", "session/content", "session/mailbox", "history"},
	"session/remote":      {"session/clients", "filecontext", "filecontext/source"},
	"session/record":      {"session/remote", "session/following", "session/choices", "session/workspace", "session/outlines", "session/content", "session/events", "session/mailbox", "filecontext", "history"},
	"session/shelf":       {"session/current", "session/documents", "session/mailbox", "tokens", "history"},
	"session/following":   {"session/current", "session/choices", "session/events", "session/mailbox", "session/profile", "llm", "history"},
	"session/accounts":    {"session/cachetime", "session/assembly", "session/compacting", "session/content", "session/events", "session/fit", "session/mailbox", "tokens", "history"},
	"session/approval":    {},
	"session/permissions": {"session/tools", "session/approval", "session/choices", "session/events", "session/mailbox", "history"},
	"session/asking":      {"session/approval", "session/clients", "session/mailbox", "session/tools"},
	"session/filechanges": {"session/tools", "filecontext", "filecontext/change", "history"},
	"session/changing":    {"session/tools", "session/clients", "filecontext", "filecontext/change", "history"},
	"session/restoring":   {"session/changing", "session/mailbox", "session/saving", "filecontext", "filecontext/change", "history"},
	"session/calls":       {"session/tools", "session/events", "history"},
	"session/current":     {"session/reads", "session/assembly", "session/choices", "session/workspace", "session/documents", "session/content", "session/profile", "stability", "tokens", "llm", "history"},
	"session/requests":    {"session/current", "session/compacting", "session/assembly", "session/choices", "session/workspace", "session/content", "session/mailbox", "session/saving", "filecontext", "history"},
	"session/compacting":  {"session/metered", "session/assembly", "session/loop", "session/fit", "session/content", "session/events", "session/mailbox", "session/profile", "compaction", "llm", "history"},
	"session/assembly":    {"session/reads", "session/loop", "session/documents", "session/outlines", "session/fit", "session/content", "session/profile", "filecontext", "stability", "tokens", "llm", "history"},
	"session/choices":     {"session/approval", "session/assembly", "session/mailbox", "session/profile", "compaction", "stability", "llm", "history"},
	"session/loop":        {"session/fit", "session/content", "session/profile", "stability", "tokens", "history"},
	"session/documents":   {"session/fit", "session/profile", "filecontext", "tokens", "history"},
	"session/workspace":   {"session/remote", "session/shell", "session/changing", "session/tools", "session/reads", "session/clients", "filecontext/index", "session/outlines", "session/fit", "session/events", "session/mailbox", "filecontext", "filecontext/outline", "tokens", "history"},
	"session/outlines":    {"session/fit", "session/events", "session/mailbox", "filecontext", "filecontext/index", "filecontext/outline", "filecontext/outline/graph", "filecontext/outline/text", "stability", "tokens"},
	"session/servers":     {"session/tools", "session/mailbox", "session/content", "history"},
	"session/shell":       {"session/tools", "session/clients", "filecontext", "history"},
	"session/toolbox":     {"session/tools", "session/clients", "session/content", "session/mailbox", "llm", "history"},
	"session/tools":       {"filecontext", "filecontext/change", "filecontext/index", "filecontext/outline", "filecontext/outline/text", "filecontext/source", "history"},
	"session/fit":         {"session/content", "session/profile", "filecontext", "stability", "tokens", "history"},
	"session/reads":       {"filecontext", "history"},
	"session/content":     {"llm", "tokens", "history"},
	"session/events":      {"history"},
	"session/saving":      {"history"},
	"session/clients":     {"session/approval", "session/tools"},
	"session/commands":    {"filecontext", "history"},
	"session/mailbox":     {},
	"session/profile":     {},

	// Too large for a helper, so it has its own row: the code of `strata replay`.
	"internal/replay": {"stability"},
}

// program is the only package that may import all others except those for tests.
const program = "cmd/strata"

// testOnly are the internal packages that only tests may import. They may import anything.
// Any other internal package without a row is a helper: any package may import it, and it may import only helperImports
// of this module.
var testOnly = []string{
	"internal/acpcheck",
	"internal/architecture",
	"internal/binary",
	"internal/casecheck",
	"internal/hudtest",
	"internal/npm",
	"internal/sourcetree",
	"internal/stuckfs",
	"internal/testclient",
	"internal/upstream",
	"internal/vscodetest",
}

var helperImports = []string{"history"}

// importFaults returns the imports of p that break the rules. It ignores imports of tests, which may use packages that
// their own package must not.
func importFaults(p Package) []string {
	from := unit(p.ImportPath)
	var faults []string
	for _, path := range p.Imports {
		if !ours(path) || unit(path) == from {
			continue
		}
		if reason := refuse(from, unit(path)); reason != "" {
			faults = append(faults, fmt.Sprintf("%s imports %s: %s", p.ImportPath, path, reason))
		}
	}
	if !known(from) {
		faults = append(faults, fmt.Sprintf("%s is not in the table of packages", p.ImportPath))
	}
	return faults
}

// refuse returns why one unit may not import another, or "" if it may.
func refuse(from, to string) string {
	allowed := imports[from]
	switch {
	case slices.Contains(testOnly, from):
		return ""
	case slices.Contains(testOnly, to):
		return to + " is for tests only"
	case from == program:
		return ""
	case isSmallPiece(from):
		allowed = helperImports
	case isSmallPiece(to):
		return ""
	}
	if slices.Contains(allowed, to) {
		return ""
	}
	return fmt.Sprintf("of this module, %s may import only %v", from, allowed)
}

func isSmallPiece(unit string) bool {
	return strings.HasPrefix(unit, "internal/") && !hasRow(unit) && !slices.Contains(testOnly, unit)
}

func hasRow(unit string) bool {
	_, listed := imports[unit]
	return listed
}

func known(unit string) bool {
	return hasRow(unit) || unit == program || strings.HasPrefix(unit, "internal/")
}
