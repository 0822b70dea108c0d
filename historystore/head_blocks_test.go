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
	"strata/historystore/heads"
	"strata/internal/failpoint"
)

// packAll packs the heads of all sessions that are due.
func packAll(t testing.TB, s *Store) {
	t.Helper()
	if err := packDue(s); err != nil {
		t.Fatal(err)
	}
}

func packDue(s *Store) error {
	return s.run(ctx, "test", &job{alone: true, apply: func(*writeTx) error {
		for s.writer.packStep() {
		}
		return nil
	}})
}

// blocks returns the number of blocks of a session.
func blocks(t testing.TB, s *Store, session string) (n int) {
	t.Helper()
	err := s.view(ctx, "test", func(tx *sql.Tx) (err error) {
		n, err = first(ctx, tx, scanOne[int], "SELECT count(*) FROM head_block WHERE session = ?", session)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// checkHeads compares the heads of a session to those in the rows, and returns how they are stored.
func checkHeads(t testing.TB, s *Store, session string) (found heads.Found) {
	t.Helper()
	got := load(t, s, session)
	err := s.view(ctx, "test", func(tx *sql.Tx) error {
		want, err := collect(ctx, tx, heads.Scanner(), "SELECT "+heads.Columns+" FROM message WHERE session = ? ORDER BY seq", session)
		equal(t, "heads", got.Heads, want)
		if err == nil {
			found, err = heads.Read(ctx, tx, session, got.Session.Messages)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func change(t testing.TB, s *Store, query string, args ...any) {
	t.Helper()
	if err := s.write(ctx, "test", nil, func(tx *writeTx) error { return tx.must(query, args...) }); err != nil {
		t.Fatal(err)
	}
}

// randomMessage returns a message of any kind, also with ids that another program could have given.
func randomMessage(r *rand.Rand, seq int64) history.Message {
	m := textMessage(seq, history.RoleUser, strings.Repeat("some words ", r.IntN(20)))
	m.ID = fmt.Sprintf([]string{"msg_%026d", "%d", "é %d\n", strings.Repeat("long", 200) + "%d"}[min(r.IntN(60), 3)^3], seq)
	m.At = epoch.Add(time.Duration(r.Int64N(1e15)) - 5e14)
	m.Tokens = r.IntN(5000)
	switch r.IntN(6) {
	case 0:
		m.Role, m.Turn = history.RoleAssistant, turnID(seq/3)
		m.Blocks = append(m.Blocks, history.Block{Type: history.BlockToolCall, CallID: "c", Name: "read", Args: "{}"})
	case 1:
		m.Role, m.Turn = history.RoleTool, turnID(seq/3)
		m.Blocks = []history.Block{{Type: history.BlockToolResult, CallID: "c", Content: m.Blocks}}
	case 2:
		m.Role = history.RoleAssistant
		m.Status = []history.MessageStatus{history.StatusCancelled, history.StatusInterrupted, history.StatusFailed}[r.IntN(3)]
	case 3:
		m.Blocks = nil
	}
	return m
}

// In any order of changes, imports, steps, loads, damage and restarts, the heads of a session are those of its rows.
func TestPackedHeadsAreThoseOfTheRows(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(seed, 13))
			path := filepath.Join(t.TempDir(), "strata.db")
			s := openTest(t, path, asked)
			next := map[string]int64{}
			ids := []string{"sess_a", "sess_b", "sess_import"}
			for _, id := range ids {
				ch := createSession(id)
				ch.Create.Hidden = id == "sess_import"
				commit(t, s, ch)
			}
			used := 0
			for range 40 {
				id := ids[r.IntN(len(ids))]
				switch k := r.IntN(12); {
				case k < 6:
					ch := history.Change{Session: id}
					for range 1 + r.IntN(300) {
						next[id] += 1 + int64(r.IntN(2))
						ch.Messages = append(ch.Messages, randomMessage(r, next[id]))
					}
					next[id]++
					commit(t, s, ch, compactEdit(id, next[id]))
				case k < 9:
					packAll(t, s)
				case k == 9:
					damage := [][2]string{
						{"heads = CAST(substr(heads, 1, 9) || x'07' || substr(heads, 11) AS BLOB)", "1"},
						{"last_seq = last_seq + 1", "1"},
						{"first_seq = first_seq - 1", "first_seq > 1"},
					}[r.IntN(3)]
					if err := s.write(ctx, "test", nil, func(tx *writeTx) error {
						_, err := tx.exec("UPDATE head_block SET "+damage[0]+" WHERE session = ? AND first_seq % 3 = 1 AND "+damage[1], id)
						return err
					}); err != nil {
						t.Fatal(err)
					}
				case k == 10:
					if err := s.Close(); err != nil {
						t.Fatal(err)
					}
					s = openTest(t, path, asked)
					change(t, s, "UPDATE session SET hidden = 0, deleted_at = NULL WHERE id = 'sess_import'")
				}
				if id == "sess_import" {
					change(t, s, "UPDATE session SET hidden = 0 WHERE id = ?", id)
				}
				if found := checkHeads(t, s, id); found.Packed > 0 {
					used++
				}
			}
			packAll(t, s)
			if used < 4 {
				t.Errorf("blocks were used %d times", used)
			}
			for _, id := range ids {
				if found := checkHeads(t, s, id); found.Fault != nil {
					t.Errorf("%s: %v", id, found.Fault)
				}
			}
		})
	}
}

func TestShortSessionsAreNotPacked(t *testing.T) {
	s := openTest(t, "", asked)
	fillSession(t, s, "sess_a", 511, 30)
	packAll(t, s)
	equal(t, "blocks", blocks(t, s, "sess_a"), 0)
	commit(t, s, appendText("sess_a", 512, "one more"))
	packAll(t, s)
	equal(t, "blocks", blocks(t, s, "sess_a"), 2)
	equal(t, "unpacked", checkHeads(t, s, "sess_a").Unpacked, 0)
	commit(t, s, appendText("sess_a", 513, "late"))
	equal(t, "unpacked", checkHeads(t, s, "sess_a").Unpacked, 1)
}

// What disagrees with the rows is logged once, read from the rows, and packed again.
func TestDamagedBlocksAreReplaced(t *testing.T) {
	const second = " WHERE session = 'sess_a' AND first_seq = 257"
	const insert = "INSERT INTO message SELECT 9999, session, 1, 'late', turn, role, status, tokens, bytes, blocks, has_calls, at, checksum, body, ''"
	for name, statement := range map[string]string{
		"wrong byte":      "UPDATE head_block SET heads = CAST(substr(heads, 1, 99) || x'ff' || substr(heads, 101) AS BLOB)" + second,
		"truncated":       "UPDATE head_block SET heads = x'' WHERE session = 'sess_a' AND first_seq = 1",
		"first":           "UPDATE head_block SET first_seq = 258" + second,
		"last":            "UPDATE head_block SET last_seq = 10000 WHERE session = 'sess_a' AND first_seq = 513",
		"overlap":         "UPDATE head_block SET last_seq = 600" + second,
		"missing":         "DELETE FROM head_block" + second,
		"another session": "UPDATE head_block SET heads = (SELECT heads FROM head_block WHERE session = 'sess_b' AND first_seq = 257)" + second,
		"another block":   "UPDATE head_block SET heads = (SELECT heads FROM head_block WHERE session = 'sess_a' AND first_seq = 1)" + second,
		"late message":    insert + " FROM message WHERE session = 'sess_a' AND seq = 300",
		"deleted message": "DELETE FROM message WHERE session = 'sess_a' AND seq = 300",
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			s := openTest(t, "", Options{indexDelay: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
			for _, id := range []string{"sess_a", "sess_b"} {
				commit(t, s, createSession(id))
				ch := history.Change{Session: id}
				for seq := int64(2); seq <= 1000; seq++ {
					ch.Messages = append(ch.Messages, textMessage(seq, history.RoleUser, id))
				}
				if name != "late message" {
					ch.Messages = append([]history.Message{textMessage(1, history.RoleUser, id)}, ch.Messages...)
				}
				commit(t, s, ch)
			}
			packAll(t, s)
			equal(t, "blocks", blocks(t, s, "sess_a"), 3)
			change(t, s, statement)
			switch name {
			case "late message":
				change(t, s, "UPDATE session SET messages = messages + 1 WHERE id = 'sess_a'")
			case "deleted message":
				change(t, s, "UPDATE session SET messages = messages - 1 WHERE id = 'sess_a'")
			}
			if checkHeads(t, s, "sess_a").Fault == nil {
				t.Error("no fault was noticed")
			}
			packAll(t, s)
			if found := checkHeads(t, s, "sess_a"); found.Fault != nil || found.Unpacked >= 256 {
				t.Errorf("%d unpacked, %v", found.Unpacked, found.Fault)
			}
			equal(t, "warnings", strings.Count(log.String(), "packed heads of messages are ignored"), 1)
		})
	}
}

// Heads are packed in the background: after an import, and in a database of version 10 after a load.
func TestHeadsArePackedInTheBackground(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata.db")
	db := databaseOfVersion(t, path, 10)
	if _, err := db.Exec(`INSERT INTO session (id, cwd, roots, title, title_by_user, config, created_at, updated_at, hidden, messages)
		VALUES ('sess_old', '/', '[]', '', 0, '{}', 1, 1, 0, 600)`); err != nil {
		t.Fatal(err)
	}
	for seq := int64(1); seq <= 600; seq++ {
		m, err := encodeMessage(textMessage(seq, history.RoleUser, "old"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.Exec(`INSERT INTO message (session, seq, id, turn, role, status, tokens, bytes, blocks, has_calls, at, checksum, body, text)
			VALUES ('sess_old', ?, ?, '', 'user', 'complete', 3, ?, 1, 0, ?, ?, ?, '')`, seq, m.ID, len(m.body), seq*1000, m.checksum, m.body); err != nil {
			t.Fatal(err)
		}
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	s := openTest(t, path, Options{indexDelay: time.Nanosecond})
	equal(t, "blocks before the load", blocks(t, s, "sess_old"), 0)
	checkHeads(t, s, "sess_old")
	fillSession(t, s, "sess_new", 600, 30)
	for blocks(t, s, "sess_old") < 2 || blocks(t, s, "sess_new") < 2 {
		time.Sleep(time.Millisecond)
	}
	for _, id := range []string{"sess_old", "sess_new"} {
		equal(t, "unpacked", checkHeads(t, s, id).Unpacked, 600-512)
	}
}

// A purge deletes the blocks, and a session with the same id gets its own.
func TestPurgeOfPackedHeads(t *testing.T) {
	s := openTest(t, "", asked)
	commit(t, s, createSession("sess_keep"))
	want := dump(t, s)
	for _, text := range []int{30, 60} {
		fillSession(t, s, "sess_a", 1100, text)
		packAll(t, s)
		equal(t, "blocks", blocks(t, s, "sess_a"), 4)
		equal(t, "unpacked", checkHeads(t, s, "sess_a").Unpacked, 1100-1024)
		if err := s.Delete(ctx, "sess_a", epoch); err != nil {
			t.Fatal(err)
		}
		if err := purgeAll(s); err != nil {
			t.Fatal(err)
		}
		packAll(t, s)
		equal(t, "database", dump(t, s), want)
	}
}

// On a full disk nothing is packed, which is logged once; sessions are loaded, and packed later.
func TestPackingOnAFullDisk(t *testing.T) {
	var log bytes.Buffer
	s := openTest(t, "", Options{indexDelay: time.Hour, Log: slog.New(slog.NewTextHandler(&log, nil))})
	fillSession(t, s, "sess_a", 5000, 30)
	catchUp(t, s)
	if err := s.repeat(ctx, vacuum); err != nil {
		t.Fatal(err)
	}
	limitPages(t, s, 1)
	for range 5 {
		checkHeads(t, s, "sess_a")
		packAll(t, s)
	}
	few := blocks(t, s, "sess_a")
	if few > 5 {
		t.Fatalf("%d blocks on a full disk", few)
	}
	limitPages(t, s, 1_000_000)
	checkHeads(t, s, "sess_a")
	packAll(t, s)
	equal(t, "blocks", blocks(t, s, "sess_a"), 19)
	checkHeads(t, s, "sess_a")
	equal(t, "warnings", strings.Count(log.String(), "cannot be packed"), 1)
}

// While changes wait, nothing is packed.
func TestChangesGoBeforePacking(t *testing.T) {
	s := openTest(t, "", asked)
	fillSession(t, s, "sess_a", 600, 30)
	open := make(chan struct{})
	s.writer.queue <- &job{done: make(chan error, 1), alone: true, apply: func(*writeTx) error {
		<-open
		s.writer.packing = true
		return nil
	}}
	var jobs []*job
	for range 2*groupLength + 10 {
		jobs = append(jobs, &job{done: make(chan error, 1), apply: func(tx *writeTx) error {
			packed, err := first(background, tx, scanOne[int], "SELECT count(*) FROM head_block")
			if err == nil && packed > 0 {
				err = fmt.Errorf("%d blocks were packed before a waiting change was stored", packed)
			}
			return err
		}})
		s.writer.queue <- jobs[len(jobs)-1]
	}
	close(open)
	for _, j := range jobs {
		if err := <-j.done; err != nil {
			t.Fatal(err)
		}
	}
	for blocks(t, s, "sess_a") < 2 {
		time.Sleep(time.Millisecond)
	}
}

// packUntilKilled is what the child does in TestKillWhilePacking.
func packUntilKilled(s *Store) error {
	if err := s.Commit(ctx, createSession("sess_a")); err != nil {
		return err
	}
	ch := history.Change{Session: "sess_a"}
	for seq := int64(1); seq <= 1100; seq++ {
		ch.Messages = append(ch.Messages, textMessage(seq, history.RoleUser, "text"))
	}
	if err := s.Commit(ctx, ch); err != nil {
		return err
	}
	return packDue(s)
}

// A process that is killed right before or after a block is stored leaves whole blocks; the others are packed later.
func TestKillWhilePacking(t *testing.T) {
	for point, want := range map[string]int{"pack.before": 0, "pack.after": 1, "pack.before:3": 2, "pack.after:4": 4} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "strata.db")
			cmd := childCommand(t, childPacks, path, failpoint.Env+"="+point)
			if out, err := cmd.Output(); err == nil {
				t.Fatalf("failpoint %s was never reached: %s", point, out)
			}
			s := openTest(t, path, asked)
			equal(t, "blocks", blocks(t, s, "sess_a"), want)
			found := checkHeads(t, s, "sess_a")
			equal(t, "unpacked", found.Unpacked, 1100-256*want)
			packAll(t, s)
			if found = checkHeads(t, s, "sess_a"); found.Fault != nil {
				t.Fatal(found.Fault)
			}
			if want == 0 {
				equal(t, "blocks", blocks(t, s, "sess_a"), 4)
			}
			equal(t, "sorted", slices.IsSortedFunc(found.Heads, func(a, b history.Head) int { return int(a.Seq - b.Seq) }), true)
		})
	}
}
