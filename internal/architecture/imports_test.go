package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// `go list` lists a file with a build constraint only for the systems that build it.
var systems = []string{"linux", "darwin", "windows"}

func TestImportsKeepToTheTable(t *testing.T) {
	for _, system := range systems {
		for _, p := range list(t, system) {
			for _, fault := range importFaults(p) {
				t.Errorf("%s: %s", system, fault)
			}
		}
	}
}

func TestEveryPackageSaysWhatItIsFor(t *testing.T) {
	for _, p := range list(t, systems[0]) {
		if fault := commentFault(p); fault != "" {
			t.Error(fault)
		}
	}
}

// list returns all packages of the tree.
func list(t *testing.T, system string) []Package {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json=ImportPath,Name,Dir,Doc,Imports", "./...")
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOOS="+system)
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, complaints.String())
	}

	var packages []Package
	for decoder := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p Package
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("decode go list: %v", err)
		}
		packages = append(packages, p)
	}
	if len(packages) == 0 {
		t.Fatal("go list found no packages")
	}
	return packages
}

func TestImportFaults(t *testing.T) {
	tests := []struct {
		name    string
		from    string
		imports []string
		want    []string
	}{
		{"what the table allows", "strata/session", []string{"fmt", "strata/llm", "golang.org/x/sync/errgroup"}, nil},
		{"upwards", "strata/session", []string{"strata/server"}, []string{
			"strata/session imports strata/server: of this module, session may import only [session/servers session/metered session/shell session/frontends session/record session/shelf session/following session/prompts session/finding session/accounts session/requests session/calls session/filechanges session/current session/toolbox session/tools session/permissions session/approval session/asking session/reads session/choices session/compacting session/assembly session/loop session/documents session/workspace session/outlines session/fit session/clients session/content session/events session/mailbox session/profile session/restoring session/saving filecontext stability compaction tokens llm history]",
		}},
		{"none allowed", "strata/rpc", []string{"strata/history"}, []string{
			"strata/rpc imports strata/history: of this module, rpc may import only []",
		}},
		{"a folder below belongs to its package", "strata/llm/sse", []string{"strata/llm", "strata/tokens"}, []string{
			"strata/llm/sse imports strata/tokens: of this module, llm may import only [history]",
		}},
		{"a folder below is imported like its package", "strata/tokens", []string{"strata/web/client"}, []string{
			"strata/tokens imports strata/web/client: of this module, tokens may import only []",
		}},
		{"the program imports all", "strata/cmd/strata", []string{"strata/server", "strata/internal/failpoint", "strata/cmd/strata/internal/config"}, nil},
		{"the program imports nothing for tests", "strata/cmd/strata", []string{"strata/internal/upstream"}, []string{
			"strata/cmd/strata imports strata/internal/upstream: internal/upstream is for tests only",
		}},
		{"a folder below with a row", "strata/server/wire", []string{"strata/rpc", "strata/server/access", "strata/web"}, []string{
			"strata/server/wire imports strata/server/access: of this module, server/wire may import only [rpc session/servers session session/approval session/assembly session/choices session/clients session/commands session/compacting session/documents session/events session/finding session/fit session/following session/profile session/prompts session/restoring session/toolbox session/tools session/workspace compaction llm historystore history]",
			"strata/server/wire imports strata/web: of this module, server/wire may import only [rpc session/servers session session/approval session/assembly session/choices session/clients session/commands session/compacting session/documents session/events session/finding session/fit session/following session/profile session/prompts session/restoring session/toolbox session/tools session/workspace compaction llm historystore history]",
		}},
		{"a folder below with a row is not for all", "strata/session", []string{"strata/server/wire"}, []string{
			"strata/session imports strata/server/wire: of this module, session may import only [session/servers session/metered session/shell session/frontends session/record session/shelf session/following session/prompts session/finding session/accounts session/requests session/calls session/filechanges session/current session/toolbox session/tools session/permissions session/approval session/asking session/reads session/choices session/compacting session/assembly session/loop session/documents session/workspace session/outlines session/fit session/clients session/content session/events session/mailbox session/profile session/restoring session/saving filecontext stability compaction tokens llm history]",
		}},
		{"no package imports the program", "strata/server", []string{"strata/cmd/strata/internal/config"}, []string{
			"strata/server imports strata/cmd/strata/internal/config: of this module, server may import only [session/cachetime server/access server/bin server/past server/editor server/mcp session/servers server/wire server/transfer server/overview server/budgets server/monitors server/slash rpc session session/assembly session/choices session/clients session/commands session/compacting session/documents session/events session/finding session/fit session/following session/outlines session/permissions session/profile session/prompts session/restoring session/toolbox session/workspace compaction historystore historystore/outlines historystore/spending history web]",
		}},
		{"small pieces are for all", "strata/rpc", []string{"strata/internal/failpoint"}, nil},
		{"small pieces import the vocabulary", "strata/internal/failpoint", []string{"strata/history"}, nil},
		{"small pieces import nothing else", "strata/internal/failpoint", []string{"strata/tokens", "strata/internal/other"}, []string{
			"strata/internal/failpoint imports strata/tokens: of this module, internal/failpoint may import only [history]",
			"strata/internal/failpoint imports strata/internal/other: of this module, internal/failpoint may import only [history]",
		}},
		{"an internal package with a row", "strata/internal/replay", []string{"strata/stability", "strata/internal/failpoint"}, nil},
		{"an internal package with a row is not for all", "strata/session", []string{"strata/internal/replay"}, []string{
			"strata/session imports strata/internal/replay: of this module, session may import only [session/servers session/metered session/shell session/frontends session/record session/shelf session/following session/prompts session/finding session/accounts session/requests session/calls session/filechanges session/current session/toolbox session/tools session/permissions session/approval session/asking session/reads session/choices session/compacting session/assembly session/loop session/documents session/workspace session/outlines session/fit session/clients session/content session/events session/mailbox session/profile session/restoring session/saving filecontext stability compaction tokens llm history]",
		}},
		{"packages for tests import anything", "strata/internal/testclient", []string{"strata/rpc", "strata/internal/binary"}, nil},
		{"an unplanned package", "strata/utils", nil, []string{"strata/utils is not in the table of packages"}},
		{"a second program", "strata/cmd/other", nil, []string{"strata/cmd/other is not in the table of packages"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := importFaults(Package{ImportPath: tt.from, Imports: tt.imports})
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("faults (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCommentFault(t *testing.T) {
	tests := []struct{ name, doc, want string }{
		{"rpc", "Package rpc is JSON-RPC over a message stream.", ""},
		{"main", "Strata is a session server.", ""},
		{"rpc", "", "strata/x has no package comment"},
		{"main", "", "strata/x has no package comment"},
		{"rpc", "JSON-RPC.", `strata/x: the package comment starts with "JSON-RPC.", want "Package rpc"`},
		{"rpc", "Package rpcs is.", `strata/x: the package comment starts with "Package rpcs", want "Package rpc"`},
	}
	for _, tt := range tests {
		if got := commentFault(Package{ImportPath: "strata/x", Name: tt.name, Doc: tt.doc}); got != tt.want {
			t.Errorf("commentFault(%s, %q) = %q, want %q", tt.name, tt.doc, got, tt.want)
		}
	}
}

// The table itself must not allow cycles.
func TestTableHasNoCycle(t *testing.T) {
	var visit func(unit string, above []string)
	visit = func(unit string, above []string) {
		if len(above) > len(imports) {
			t.Fatalf("the table has a cycle: %s", strings.Join(above, " imports "))
		}
		allowed, listed := imports[unit]
		if !listed {
			t.Errorf("%v names %s, which has no row", above, unit)
		}
		for _, next := range allowed {
			visit(next, append(above, unit))
		}
	}
	for unit := range imports {
		visit(unit, nil)
	}
}
