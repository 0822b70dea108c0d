package kept

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	_ "modernc.org/sqlite" // to make a database small, and to read its version

	"strata/historystore/schema"
	"strata/internal/binary"
)

var keep = flag.String("keep", "", "make a kept database with the program, and write it to this `FOLDER`")

func TestMain(m *testing.M) { binary.Main(m) }

// record is what a kept database holds: the results of requests to the program that made it.
type record struct {
	Schema  int        `json:"schema"`
	Program string     `json:"program"` // its version
	Live    []string   `json:"live"`    // ids of sessions
	Deleted string     `json:"deleted"` // empty if the program could not delete sessions
	All     []question `json:"all"`
	InBin   []question `json:"inBin"` // about the deleted session
}

// question is a request with its results, one for each page.
type question struct {
	Method  string            `json:"method"`
	Params  map[string]any    `json:"params"`
	Results []json.RawMessage `json:"results"`
}

// maxKept is the maximum size of all kept databases and records, in bytes.
const maxKept = 500_000

func databasePath(folder string, version int) string {
	return filepath.Join(folder, fmt.Sprintf("%04d.db.gz", version))
}

func recordPath(folder string, version int) string {
	return filepath.Join(folder, fmt.Sprintf("%04d.json.gz", version))
}

// TestMakeADatabase makes a kept database with the program of the test, or with another one: see README.md.
func TestMakeADatabase(t *testing.T) {
	if *keep == "" {
		t.Skip("only with -keep")
	}
	home := newHome(t)
	server, m := start(t, home)
	all := m.use()
	live, last := all[:len(all)-1], all[len(all)-1]
	r := record{Live: live, Deleted: last, InBin: m.ask(about(last))}
	if _, ok := m.call("session/delete", map[string]any{"sessionId": last}, false); !ok {
		r.Live, r.Deleted, r.InBin = all, "", nil
	}
	server.Stop()
	server.Restart(binary.Options{}) // so that the results come from the database
	m = connect(t, server, home)
	r.All = m.ask(append(slices.Clone(overall), about(r.Live...)...))
	r.Program = m.version
	server.Stop()
	r.Schema = shrink(t, server.Database)
	pack(t, databasePath(*keep, r.Schema), read(t, server.Database))
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	pack(t, recordPath(*keep, r.Schema), text)
}

// shrink removes the free space of a database, and returns the version of its schema.
func shrink(t *testing.T, path string) (version int) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	for _, statement := range []string{"PRAGMA journal_mode = DELETE", "VACUUM"} {
		if _, err := db.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.QueryRow("PRAGMA user_version").Scan(&version); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	return version
}

// Every schema has a kept database, except the one that no program had.
func TestEverySchemaHasADatabase(t *testing.T) {
	all, err := schema.Migrations()
	if err != nil {
		t.Fatal(err)
	}
	const skipped = 9 // came with version 10
	var size int64
	for version := 1; version <= len(all); version++ {
		for _, path := range []string{databasePath("testdata", version), recordPath("testdata", version)} {
			info, err := os.Stat(path)
			switch {
			case err == nil:
				size += info.Size()
			case version != skipped:
				t.Errorf("schema %d has no kept database (%v): run `make kept`", version, err)
			}
		}
	}
	if size > maxKept {
		t.Errorf("the kept databases have %d bytes, more than %d", size, maxKept)
	}
}

// A database of each version is migrated, holds what it held, and its sessions go on.
func TestKeptDatabasesHoldTheSame(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(filepath.Join("testdata", "*.db.gz"))
	if err != nil || len(found) == 0 {
		t.Fatal(found, err)
	}
	for _, path := range found {
		var version int
		if _, err := fmt.Sscanf(filepath.Base(path), "%d", &version); err != nil {
			t.Fatal(err)
		}
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			t.Parallel()
			holdsTheSame(t, version)
		})
	}
}

func holdsTheSame(t *testing.T, version int) {
	var r record
	if err := json.Unmarshal(unpack(t, recordPath("testdata", version)), &r); err != nil {
		t.Fatal(err)
	}
	if r.Schema != version || len(r.All) == 0 {
		t.Fatalf("the record is about schema %d, with %d results", r.Schema, len(r.All))
	}
	home := newHome(t)
	home.PutDatabase(t, unpack(t, databasePath("testdata", version)))
	server, m := start(t, home)
	m.compare(r.All)
	if r.Deleted != "" {
		m.in(r.Deleted, "_strata/session/undelete", nil)
		m.compare(r.InBin)
	}
	for _, id := range r.Live {
		m.goOn(id)
	}
	server.Stop()
	var check string
	db, err := sql.Open("sqlite", "file:"+filepath.ToSlash(server.Database))
	if err == nil {
		err = db.QueryRow("PRAGMA integrity_check").Scan(&check)
		db.Close()
	}
	if err != nil || check != "ok" {
		t.Errorf("integrity: %s, %v", check, err)
	}
}

// goOn loads a session in a new folder and sends a prompt. The transcript only grows.
func (m *maker) goOn(session string) {
	m.t.Helper()
	before := m.messages(session)
	m.in(session, "session/load", map[string]any{"cwd": m.home.Project, "mcpServers": []any{}})
	reply, err := m.editor.Prompt(session, "One more question after the upgrade?")
	if err != nil || reply.StopReason != "end_turn" || reply.Said() == "" {
		m.t.Errorf("%s: a prompt ends with %q, %v", session, reply.StopReason, err)
	}
	after := m.messages(session)
	if len(after) != len(before)+2 || !slices.Equal(after[:len(before)], before) {
		m.t.Errorf("%s: the transcript was %v, and is %v", session, before, after)
	}
}

// messages returns the ids of a session's messages.
func (m *maker) messages(session string) (ids []string) {
	m.t.Helper()
	result, _ := m.call("_strata/history/list", map[string]any{"sessionId": session, "limit": 500}, false)
	var page struct{ Messages []struct{ ID string } }
	if err := json.Unmarshal(result, &page); err != nil {
		m.t.Fatal(err)
	}
	for _, message := range page.Messages {
		ids = append(ids, message.ID)
	}
	return ids
}

// compare asks the questions again. Each result must contain the recorded one.
func (m *maker) compare(recorded []question) {
	m.t.Helper()
	for _, q := range recorded {
		again := m.ask([]question{q})
		if len(again) == 0 {
			m.t.Errorf("%s is missing", q.Method)
			continue
		}
		old, now := merged(m.t, q.Results), merged(m.t, again[0].Results)
		for _, fault := range lost("", old, now, nil) {
			m.t.Errorf("%s %v: %s", q.Method, q.Params["sessionId"], fault)
		}
	}
}

// merged returns the pages of a result as one: lists are joined in the order of the pages.
func merged(t *testing.T, pages []json.RawMessage) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, page := range pages {
		var fields map[string]any
		if err := json.Unmarshal(page, &fields); err != nil {
			t.Fatal(err)
		}
		for name, value := range fields {
			list, isList := value.([]any)
			if before, ok := all[name].([]any); ok && isList {
				value = append(before, list...)
			}
			all[name] = value
		}
	}
	delete(all, "nextCursor")
	return all
}

// lost returns what the old result has and the new one does not. The new one may have further fields.
func lost(path string, old, now any, faults []string) []string {
	switch old := old.(type) {
	case map[string]any:
		fields, ok := now.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(old)) {
			faults = lost(path+"."+name, old[name], fields[name], faults)
		}
		return faults
	case []any:
		list, ok := now.([]any)
		if !ok || len(list) != len(old) {
			break
		}
		for i := range old {
			faults = lost(path, old[i], list[i], faults)
		}
		return faults
	default:
		if old == now {
			return faults
		}
	}
	a, _ := json.Marshal(old)
	b, _ := json.Marshal(now)
	return append(faults, fmt.Sprintf("%s was %.300s, and is %.300s", path, a, b))
}

// The comparison notices each kind of loss.
func TestLostNoticesEachKindOfLoss(t *testing.T) {
	const old = `{"a": 1, "b": ["x", {"c": null, "d": "e"}], "f": true}`
	for now, faults := range map[string]int{
		old: 0,
		`{"a": 1, "b": ["x", {"c": null, "d": "e", "more": 1}], "f": true, "more": 2}`: 0,
		`{"a": 2, "b": ["x", {"c": null, "d": "e"}], "f": true}`:                       1,
		`{"a": 1, "b": ["x"], "f": true}`:                                              1,
		`{"a": 1, "b": [{"c": null, "d": "e"}, "x"], "f": true}`:                       2,
		`{"a": 1, "b": ["x", {"c": 0, "d": "E"}], "f": true}`:                          2,
		`{"a": 1, "b": "x"}`: 2,
		`[]`:                 1,
	} {
		var a, b any
		if err := json.Unmarshal([]byte(old), &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(now), &b); err != nil {
			t.Fatal(err)
		}
		if got := lost("", a, b, nil); len(got) != faults {
			t.Errorf("%s: %q, want %d faults", now, got, faults)
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pack writes a compressed file.
func pack(t *testing.T, path string, data []byte) {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func unpack(t *testing.T, path string) []byte {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
