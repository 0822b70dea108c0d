package historystore

import (
	"bytes"
	"database/sql"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"strata/history"
	"strata/historystore/blobs"
)

// editFile returns the planned change n of turn 0. Empty texts are no file.
func editFile(n int64, before, after string) history.FileChange {
	c := history.FileChange{ID: fmt.Sprint("fc_", n), Turn: turnID(0), Step: 1, Call: fmt.Sprint("tc_", n), Seq: n, Kind: history.FileEdited,
		Path: "/project/a.go", Mode: 0o644, At: epoch.Add(time.Duration(n) * time.Second), State: history.FileChangePlanned}
	if c.Before = blobs.Hash([]byte(before)); before == "" {
		c.Kind, c.Before = history.FileCreated, ""
	}
	if c.After = blobs.Hash([]byte(after)); after == "" {
		c.Kind, c.After = history.FileDeleted, ""
	}
	imageTexts[c.Before], imageTexts[c.After] = before, after
	return c
}

// imageTexts are the contents of the files of editFile, by hash.
var imageTexts = map[string]string{}

// putFileChanges returns the change that stores file changes with all images.
func putFileChanges(session string, changes ...history.FileChange) history.Change {
	ch := history.Change{Session: session, PutFileChanges: changes}
	for _, c := range changes {
		for _, hash := range []string{c.Before, c.After} {
			if hash != "" {
				ch.FileImages = append(ch.FileImages, testBlob(imageTexts[hash]))
			}
		}
	}
	return ch
}

func fileChangeDone(session string, c history.FileChange) history.Change {
	c.State = history.FileChangeDone
	return history.Change{Session: session, PutFileChanges: []history.FileChange{c}}
}

// stored returns file changes as the store returns them: with all their images.
func stored(changes ...history.FileChange) []history.FileChange {
	for i := range changes {
		c := &changes[i]
		c.HasBefore, c.HasAfter = c.Before != "", c.After != ""
	}
	return changes
}

func fileChanges(t *testing.T, s *Store, session string, q history.FileChangeQuery) []history.FileChange {
	t.Helper()
	list, err := s.FileChangeStore().List(ctx, session, q)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// imagesOf returns the texts of the images of a session, in the order of wanted, without missing ones.
func imagesOf(t *testing.T, s *Store, session string, wanted ...string) (found []string) {
	t.Helper()
	var hashes []string
	for _, text := range wanted {
		hashes = append(hashes, blobs.Hash([]byte(text)))
	}
	images, err := s.FileChangeStore().Images(ctx, session, hashes)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range wanted {
		if data, ok := images[blobs.Hash([]byte(text))]; ok {
			equal(t, "image", string(data), text)
			found = append(found, text)
		}
	}
	return found
}

func TestFileChangesAreStored(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	s := openTest(t, path, Options{})
	create, edit, remove := editFile(1, "", "one"), editFile(2, "one", "two"), editFile(4, "two", "")
	move := editFile(3, "two", "two")
	move.Kind, move.To = history.FileMoved, "/project/\xff 漢.go"
	remove.Turn, remove.Mode = turnID(1), 0o4755
	commit(t, s, createSession("sess_a"), createSession("sess_b"), putFileChanges("sess_a", create, edit),
		history.Change{Session: "sess_a", PutFileChanges: []history.FileChange{move}}, putFileChanges("sess_a", remove),
		putFileChanges("sess_b", editFile(1, "x", "y")))
	for range 2 {
		all := stored(create, edit, move, remove)
		equal(t, "changes", fileChanges(t, s, "sess_a", history.FileChangeQuery{}), all)
		equal(t, "of a turn", fileChanges(t, s, "sess_a", history.FileChangeQuery{Turn: turnID(1)}), all[3:])
		equal(t, "after a place", fileChanges(t, s, "sess_a", history.FileChangeQuery{After: 2}), all[2:])
		equal(t, "of another turn after a place", len(fileChanges(t, s, "sess_a", history.FileChangeQuery{After: 3, Turn: turnID(0)})), 0)
		equal(t, "images", imagesOf(t, s, "sess_a", "two", "x", "one"), []string{"two", "one"})
		equal(t, "planned", load(t, s, "sess_a").Planned, all)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openTest(t, path, Options{})
	}
	_, err := s.FileChangeStore().List(ctx, "sess_x", history.FileChangeQuery{})
	wantError(t, err, history.ErrNotFound)
}

// A stored change takes a new state, and the content that its editor has made of it; nothing else of it changes.
func TestStatesOfFileChanges(t *testing.T) {
	s := openTest(t, "", Options{})
	one, two := editFile(1, "old", "new"), editFile(2, "new", "newer")
	commit(t, s, createSession("sess_a"), putFileChanges("sess_a", one), putFileChanges("sess_a", two))
	formatted := editFile(1, "unsaved", "new\n")
	formatted.State, formatted.Mode = history.FileChangeDone, 0o600
	commit(t, s, putFileChanges("sess_a", formatted), putFileChanges("sess_a", formatted))
	equal(t, "changes", fileChanges(t, s, "sess_a", history.FileChangeQuery{}), stored(formatted, two))
	equal(t, "planned", load(t, s, "sess_a").Planned, stored(two))

	two.State, two.RestoredBy = history.FileChangeRestored, "edit_9"
	commit(t, s, history.Change{Session: "sess_a", PutFileChanges: []history.FileChange{two}})
	equal(t, "restored", fileChanges(t, s, "sess_a", history.FileChangeQuery{RestoredBy: "edit_9"}), stored(two))
	equal(t, "planned", len(load(t, s, "sess_a").Planned), 0)

	before := dump(t, s)
	for name, other := range map[string]func(*history.FileChange){
		"turn": func(c *history.FileChange) { c.Turn = "turn_x" }, "place": func(c *history.FileChange) { c.Seq++ },
		"path": func(c *history.FileChange) { c.Path = "/b" }, "before": func(c *history.FileChange) { c.Before = c.After },
	} {
		c := two
		other(&c)
		if err := s.Commit(ctx, history.Change{Session: "sess_a", PutFileChanges: []history.FileChange{c}}); err == nil {
			t.Errorf("a change was replaced that has another %s", name)
		} else {
			wantError(t, err, ErrDuplicate)
			wantError(t, err, history.ErrUnchanged)
		}
	}
	equal(t, "database", dump(t, s), before)
}

func TestFileChangesByTurn(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"), putFileChanges("sess_b", editFile(1, "x", "y")))
	var want [][]history.FileChange
	for turn := range int64(5) {
		var changes []history.FileChange
		for n := range turn + 1 {
			c := editFile(10*turn+n+1, "old", "new")
			c.Turn = turnID(turn)
			changes = append(changes, c)
		}
		commit(t, s, putFileChanges("sess_a", changes...))
		want = append([][]history.FileChange{stored(changes...)}, want...)
	}
	var got [][]history.FileChange
	pages := 0
	for before, more := int64(0), true; more; more = before > 0 {
		turns, older, err := s.FileChangeStore().ByTurn(ctx, "sess_a", before, 2)
		if err != nil {
			t.Fatal(err)
		}
		got, before, pages = append(got, turns...), older, pages+1
	}
	equal(t, "turns", got, want)
	equal(t, "pages", pages, 3)
	_, _, err := s.FileChangeStore().ByTurn(ctx, "sess_x", 0, 0)
	wantError(t, err, history.ErrNotFound)
	all, older, err := s.FileChangeStore().ByTurn(ctx, "sess_a", -1, 0)
	if err != nil || older != 0 {
		t.Fatalf("older %d, error %v", older, err)
	}
	equal(t, "turns on one page", all, want)
}

// The images of the oldest changes leave first. An image stays as long as a newer change has it.
func TestImagesOfASessionAreBounded(t *testing.T) {
	s := openTest(t, "", Options{imageBytes: 40})
	text := func(name string) string { return strings.Repeat(name, 10) }
	a, b, c, d, e := text("a"), text("b"), text("c"), text("d"), text("e")
	commit(t, s, createSession("sess_a"), createSession("sess_b"))
	commit(t, s, putFileChanges("sess_a", editFile(1, a, b)), putFileChanges("sess_a", editFile(2, b, c)), putFileChanges("sess_a", editFile(3, c, a)))
	equal(t, "images", imagesOf(t, s, "sess_a", a, b, c), []string{a, b, c})
	commit(t, s, putFileChanges("sess_a", editFile(4, a, d)))
	equal(t, "four images", imagesOf(t, s, "sess_a", a, b, c, d), []string{a, b, c, d})
	commit(t, s, putFileChanges("sess_b", editFile(1, b, "")), putFileChanges("sess_a", editFile(5, d, e)))
	equal(t, "images at the limit", imagesOf(t, s, "sess_a", a, b, c, d, e), []string{a, c, d, e})
	equal(t, "image of another session", imagesOf(t, s, "sess_b", b), []string{b})

	list := fileChanges(t, s, "sess_a", history.FileChangeQuery{})
	var has []bool
	for _, c := range list {
		has = append(has, c.HasBefore, c.HasAfter)
	}
	equal(t, "images that the changes have", has, []bool{true, false, false, true, true, true, true, true, true, true})

	commit(t, s, putFileChanges("sess_a", editFile(6, strings.Repeat("x", 50), "")))
	equal(t, "images after one above the limit", len(imagesOf(t, s, "sess_a", a, c, d, e, strings.Repeat("x", 50))), 0)
	equal(t, "changes", len(fileChanges(t, s, "sess_a", history.FileChangeQuery{})), 6)
	equal(t, "image of another session", imagesOf(t, s, "sess_b", b), []string{b})
}

// The cache never has a blob that is not stored.
func TestImagesThatLeaveAreNotCached(t *testing.T) {
	s := openTest(t, "", Options{imageBytes: 10})
	imageTexts[blobA.Hash] = "a"
	commit(t, s, createSession("sess_a"), putFileChanges("sess_a", editFile(1, "a", "")))
	storedBlobs(t, s, blobA)
	commit(t, s, putFileChanges("sess_a", editFile(2, "ten bytes.", "")))
	storedBlobs(t, s)
	equal(t, "cached blobs", s.blobs.Len(), 0)
}

// More images than one query returns leave with one change.
func TestManyImagesLeave(t *testing.T) {
	s := openTest(t, "", Options{imageBytes: 1000})
	var changes []history.FileChange
	for n := range int64(150) {
		changes = append(changes, editFile(n+1, fmt.Sprint("old ", n), fmt.Sprint("new ", n)))
	}
	commit(t, s, createSession("sess_a"), putFileChanges("sess_a", changes...), putFileChanges("sess_a", editFile(1000, strings.Repeat("x", 1000), "")))
	found := first0(t, s, "SELECT group_concat(length(bytes)) FROM blob")
	equal(t, "sizes of the blobs", found, "1000")
	equal(t, "counted", first0(t, s, "SELECT CAST(image_bytes AS TEXT) FROM session"), "1000")
}

// first0 returns the text that a query returns.
func first0(t *testing.T, s *Store, query string) (text string) {
	t.Helper()
	err := s.view(ctx, "test", func(tx *sql.Tx) (err error) {
		text, err = first(ctx, tx, scanOne[string], query)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// An image and an entry of a layout with the same bytes are one blob, which stays until neither refers to it.
func TestImagesAndLayoutsShareBlobs(t *testing.T) {
	s := openTest(t, "", Options{})
	imageTexts[blobA.Hash], imageTexts[blobB.Hash] = "a", "b"
	commit(t, s, createSession("sess_a"), createSession("sess_b"), layOut("sess_b", nil, blobA, blobB), putFileChanges("sess_a", editFile(1, "a", "b")))
	commit(t, s, layOut("sess_b", []string{blobB.Hash}))
	storedBlobs(t, s, blobA, blobB)
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	if err := purgeAll(s); err != nil {
		t.Fatal(err)
	}
	storedBlobs(t, s, blobB)
}

// A file change of a copy names contents of other sessions by their hashes.
func TestImagesOfOtherSessionsAreFound(t *testing.T) {
	s := openTest(t, "", Options{})
	commit(t, s, createSession("sess_a"), createSession("sess_b"), putFileChanges("sess_a", editFile(1, "one", "two")))
	copied := editFile(1, "one", "three")
	commit(t, s, history.Change{Session: "sess_b", PutFileChanges: []history.FileChange{copied}})
	copied.HasBefore = true
	equal(t, "copy", fileChanges(t, s, "sess_b", history.FileChangeQuery{}), []history.FileChange{copied})
	if err := s.Delete(ctx, "sess_a", epoch); err != nil {
		t.Fatal(err)
	}
	if err := purgeAll(s); err != nil {
		t.Fatal(err)
	}
	equal(t, "images", imagesOf(t, s, "sess_b", "one", "two"), []string{"one"})
}

func TestDamagedImagesAreMissing(t *testing.T) {
	var log bytes.Buffer
	s := openTest(t, "", Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	commit(t, s, createSession("sess_a"), putFileChanges("sess_a", editFile(1, "one", "two")))
	if _, err := s.writer.tx.conn.ExecContext(ctx, "UPDATE blob SET bytes = x'00' WHERE hash = ?", blobs.Hash([]byte("one"))); err != nil {
		t.Fatal(err)
	}
	equal(t, "images", imagesOf(t, s, "sess_a", "one", "two"), []string{"two"})
	equal(t, "log lines", strings.Count(log.String(), "damaged blob"), 1)
	commit(t, s, putFileChanges("sess_a", editFile(2, "one", "")))
	equal(t, "images", imagesOf(t, s, "sess_a", "one"), []string{"one"})
}

// A damaged record is logged and omitted: the session and its other changes can be read.
func FuzzDamagedFileChanges(f *testing.F) {
	f.Add("kind", "chmod", int64(0))
	f.Add("state", "", int64(0))
	f.Add("path", "", int64(0))
	f.Add("id", "fc_2", int64(0))
	f.Add("turn", "", int64(0))
	f.Add("turn", "turn_x", int64(0))
	f.Add("hash_before", "\x00\xff", int64(0))
	f.Add("mode", "", int64(-1))
	f.Add("seq", "", int64(-1<<63))
	f.Add("step", "", int64(1<<62))
	f.Add("at", "", int64(1<<62))
	var log bytes.Buffer
	s := openTest(f, "", Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	commit(f, s, createSession("sess_a"), putFileChanges("sess_a", editFile(1, "one", "two"), editFile(2, "two", "three")))
	numbers := []string{"mode", "seq", "step", "at"}
	texts := []string{"id", "turn", "call", "kind", "path", "target", "hash_before", "hash_after", "state", "restored_by"}
	f.Fuzz(func(t *testing.T, column, text string, number int64) {
		var value any = text
		if slices.Contains(numbers, column) {
			value = number
		} else if !slices.Contains(texts, column) {
			return
		}
		conn := s.writer.tx.conn
		if _, err := conn.ExecContext(ctx, "UPDATE file_change SET "+column+" = ? WHERE rowid = 1", value); err != nil {
			return // the id of the other change
		}
		log.Reset()
		list, err := s.FileChangeStore().List(ctx, "sess_a", history.FileChangeQuery{})
		if err != nil || len(list) == 0 || list[len(list)-1].ID != "fc_2" {
			t.Fatalf("%s: %+v, %v", column, list, err)
		}
		if omitted := strings.Contains(log.String(), "damaged record"); omitted == (len(list) == 2) {
			t.Errorf("%s: %d records, log %q", column, len(list), log.String())
		}
		for i := range list {
			if err := list[i].Check(); err != nil {
				t.Error(err)
			}
		}
		if _, err := s.Load(ctx, "sess_a"); err != nil {
			t.Error(err)
		}
		turns, _, err := s.FileChangeStore().ByTurn(ctx, "sess_a", 0, 0)
		if n := len(slices.Concat(turns...)); err != nil || n != len(list) {
			t.Errorf("%s: %d changes in turns, %d in the list, %v", column, n, len(list), err)
		}
		if _, err := conn.ExecContext(ctx, "DELETE FROM file_change WHERE rowid = 1"); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ExecContext(ctx, `INSERT INTO file_change SELECT 1, session, 'fc_1', turn, step, 'tc_1', 1, kind, path, target,
			hash_before, hash_after, mode, at, state, restored_by FROM file_change WHERE rowid = 2`); err != nil {
			t.Fatal(err)
		}
	})
}

// imageModel is what the sessions of a store should have of images, oldest first.
type imageModel map[string][]string

// put adds a text as the newest one, and drops the oldest ones beyond limit.
func (m imageModel) put(session string, limit int, texts ...string) {
	all := m[session]
	for _, text := range texts {
		all = slices.DeleteFunc(all, func(t string) bool { return t == text })
	}
	m[session] = append(all, texts...)
	m.shrink(session, limit)
}

func (m imageModel) shrink(session string, limit int) {
	size := 0
	for _, text := range m[session] {
		size += len(text)
	}
	for size > limit {
		size -= len(m[session][0])
		m[session] = m[session][1:]
	}
}

// After random changes and purges each session has the images of its newest changes, and no other blob is stored.
func TestImagesMatchAModel(t *testing.T) {
	const limit = 100
	r := rand.New(rand.NewPCG(15, 0))
	s, m := openTest(t, "", Options{imageBytes: limit}), imageModel{}
	var texts []string
	for i := range 12 {
		texts = append(texts, strings.Repeat(fmt.Sprint(i%10), 5+3*i))
	}
	for n := range int64(400) {
		session := fmt.Sprint("sess_", r.IntN(3))
		if _, there := m[session]; !there {
			commit(t, s, createSession(session))
			m[session] = nil
		}
		if r.IntN(30) == 0 {
			purgeFromBoth(t, s, &model{sessions: map[string]*modelSession{session: {}}}, session)
			delete(m, session)
			continue
		}
		text := texts[r.IntN(len(texts))]
		commit(t, s, putFileChanges(session, editFile(n+1, text, "")))
		m.put(session, limit, text)

		all := map[string]bool{}
		for id, want := range m {
			for _, text := range want {
				all[text] = true
			}
			found := imagesOf(t, s, id, texts...)
			slices.Sort(found)
			equal(t, "images of "+id, found, slices.Sorted(slices.Values(want)))
		}
		equal(t, "blobs", first0(t, s, "SELECT CAST(count(*) AS TEXT) FROM blob"), fmt.Sprint(len(all)))
	}
	equal(t, "sizes that are wrong", first0(t, s, `SELECT CAST(count(*) AS TEXT) FROM session
		WHERE image_bytes <> (SELECT coalesce(sum(bytes), 0) FROM file_image WHERE session = id)`), "0")
}

// The images of a state are found by their hashes, without a look at other blobs.
func TestImagesAreFoundByTheirIndex(t *testing.T) {
	s := openTest(t, "", Options{})
	plan, err := collect(ctx, s.writer.tx, func(row scanner) (detail string, err error) {
		var id, parent, unused int
		err = row.Scan(&id, &parent, &unused, &detail)
		return detail, err
	}, `EXPLAIN QUERY PLAN SELECT c.session, hash, length(blob.bytes), c.rowid FROM file_change c JOIN blob ON hash IN (c.hash_before, c.hash_after)
		WHERE c.session = ? AND c.id = ?`, "sess_a", "fc_1")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "plan", plan, []string{"SEARCH c USING INDEX sqlite_autoindex_file_change_1 (session=? AND id=?)", "SEARCH blob USING INDEX sqlite_autoindex_blob_1 (hash=?)"})
}

// A database without file changes takes them.
func TestFileChangesOfADatabaseOfVersion12(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	db := databaseOfVersion(t, path, 12)
	if _, err := db.Exec(`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden)
		VALUES ('sess_a', '/', '[]', '', 0, '{}', 1, 1, 0)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Options{})
	equal(t, "changes", len(fileChanges(t, s, "sess_a", history.FileChangeQuery{})), 0)
	commit(t, s, putFileChanges("sess_a", editFile(1, "one", "two")))
	equal(t, "images", imagesOf(t, s, "sess_a", "one", "two"), []string{"one", "two"})
}
