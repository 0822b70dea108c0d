package stability

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// TestLogRules has a case for each rule of how a log grows and is rebuilt.
func TestLogRules(t *testing.T) {
	// Every case starts with the system prompt, two outlines, a file, and a long first prompt with its reply.
	const head = "system| outline:x outline:y|^ file:a=1|^ msg:1"
	tests := []struct {
		rule string
		opt  Options
		do   func(s *scene) *Plan
		want string
		cut  Cut
	}{
		{
			rule: "the tail of a pure append: documents, outlines, bases, diffs, notes, then the message",
			do: func(s *scene) *Plan {
				s.file("a", "2", 100)
				s.file("b", "1", 100)
				s.outline("z", "1", 10)
				s.put(Item{Key: "doc:goal", Kind: Document, Tokens: 5})
				s.note("n", 5)
				return s.turn()
			},
			want: head + "|^ msg:2| doc:goal outline:z file:b=1 file:a+2 note:n| msg:3|^",
		},
		{
			rule: "an edited file appends one merged diff",
			do: func(s *scene) *Plan {
				s.file("a", "2", 100)
				s.file("a", "3", 100)
				p := s.turn()
				if got := find(p, "file:a")[1].Blob; got != "file:a: 1>3" {
					s.t.Errorf("diff %s", got)
				}
				return p
			},
			want: head + "|^ msg:2| file:a+3| msg:3|^",
		},
		{
			rule: "removing a file makes its entry unused, and its outline follows",
			do: func(s *scene) *Plan {
				s.outline("a", "1", 10)
				return s.turn()
			},
			want: "system| outline:x outline:y|^ file:a=1†|^ msg:1|^ msg:2| outline:a| msg:3|^",
		},
		{
			rule: "deleting a file makes its entry unused",
			do: func(s *scene) *Plan {
				s.drop("file:a")
				return s.turn()
			},
			want: "system| outline:x outline:y|^ file:a=1†|^ msg:1|^ msg:2| msg:3|^",
		},
		{
			rule: "a changed outline makes the old one unused",
			do: func(s *scene) *Plan {
				s.outline("x", "2", 10)
				return s.turn()
			},
			want: "system| outline:x† outline:y|^ file:a=1|^ msg:1|^ msg:2| outline:x| msg:3|^",
		},
		{
			rule: "an outline that returns to an earlier version is sent again",
			do: func(s *scene) *Plan {
				s.outline("x", "2", 10)
				s.turn()
				s.outline("x", "1", 10)
				return s.turn()
			},
			want: "system| outline:x† outline:y|^ file:a=1|^ msg:1| msg:2| outline:x†| msg:3|^ msg:4| outline:x| msg:5|^",
		},
		{
			rule: "adding a file again whose current text is in the log is free",
			do: func(s *scene) *Plan {
				s.outline("a", "1", 10)
				s.turn()
				s.file("a", "1", 100)
				return s.turn()
			},
			want: head + "| msg:2| outline:a†| msg:3|^ msg:4| msg:5|^",
		},
		{
			rule: "adding a file again that has changed appends a diff",
			do: func(s *scene) *Plan {
				s.drop("file:a")
				s.turn()
				s.file("a", "2", 100)
				return s.turn()
			},
			want: head + "| msg:2| msg:3|^ msg:4| file:a+2| msg:5|^",
		},
		{
			rule: "a new base if diffs would exceed half its size",
			do: func(s *scene) *Plan {
				s.file("a", "2", 25)
				s.turn()
				s.file("a", "3", 19) // two diffs of 10
				return s.turn()
			},
			want: "system| outline:x outline:y|^ file:a=1†|^ msg:1| msg:2| file:a+2†| msg:3|^ msg:4| file:a=3| msg:5|^",
		},
		{
			rule: "a new base if there would be more than 4 diffs",
			do: func(s *scene) *Plan {
				for i := range 4 {
					s.file("a", fmt.Sprint(i+2), 120)
					s.reply(300)
					s.turn()
				}
				s.file("a", "6", 120)
				p := s.turn()
				if n := len(find(p, "file:a")); n != 6 || p.Entries[len(p.Entries)-2].Kind != Base {
					s.t.Errorf("%d entries of the file: %s", n, show(p.Entries))
				}
				return nil
			},
		},
		{
			rule: "a new base if the diff is too expensive",
			do: func(s *scene) *Plan {
				s.req.Diff = func(string, string, string) (string, int, bool) { return "", 0, false }
				s.file("a", "2", 100)
				return s.turn()
			},
			want: "system| outline:x outline:y|^ file:a=1†|^ msg:1|^ msg:2| file:a=2| msg:3|^",
		},
		{
			rule: "a new base if the file is partial",
			do: func(s *scene) *Plan {
				s.put(Item{Key: "file:a", Kind: File, Rev: "1", Hash: "lines 1-9", Tokens: 4, Partial: true})
				s.turn()
				s.put(Item{Key: "file:a", Kind: File, Rev: "2", Hash: "lines 2-10", Tokens: 4, Partial: true})
				s.turn()
				s.file("a", "2", 100)
				return s.turn()
			},
			want: "system| outline:x outline:y|^ file:a=1†|^ msg:1| msg:2| file:a=1†| msg:3| msg:4| file:a=2†| msg:5|^ msg:6| file:a=2| msg:7|^",
		},
		{
			rule: "after a pause longer than the lifetime everything is rebuilt, by the age of content",
			do: func(s *scene) *Plan {
				s.file("b", "1", 100)
				s.file("a", "2", 100)
				s.turn()
				s.outline("z", "1", 10)
				s.drop("outline:x")
				s.now = s.now.Add(70 * time.Minute)
				return s.turn()
			},
			want: "system| outline:y outline:z|^ msg:1| file:a=2 file:b=1| msg:2| msg:3| msg:4| msg:5|^",
			cut:  CutCold,
		},
		{
			rule: "a message that an edit removed is dropped and the log after it rebuilt; a summary follows the bases",
			do: func(s *scene) *Plan {
				s.file("b", "1", 100)
				for range 4 {
					s.turn()
				}
				s.compact(2)
				return s.turn()
			},
			want: head[:len(head)-6] + " file:b=1|^ summary:11| msg:9| msg:10| msg:12|^",
			cut:  CutEdit,
		},
		{
			rule: "at a cut each outdated kept base gets one merged diff",
			do: func(s *scene) *Plan {
				s.file("a", "2", 100)
				s.turn()
				s.file("a", "3", 100)
				s.turn()
				s.compact(2)
				return s.turn()
			},
			want: head[:len(head)-6] + " summary:7| msg:5| msg:6| file:a+3| msg:8|^",
			cut:  CutEdit,
		},
		{
			rule: "an edit before all marks keeps nothing",
			do: func(s *scene) *Plan {
				s.put(Item{Key: "system", Kind: System, Hash: "other", Tokens: 200})
				return s.turn()
			},
			want: "system| outline:x outline:y|^ file:a=1|^ msg:1| msg:2| msg:3|^",
			cut:  CutEdit,
		},
		{
			rule: "tools come first, and new ones keep nothing",
			do: func(s *scene) *Plan {
				s.put(Item{Key: "tools", Kind: Tools, Tokens: 10})
				return s.turn()
			},
			want: "tools| system| outline:x outline:y|^ file:a=1|^ msg:1| msg:2| msg:3|^",
			cut:  CutEdit,
		},
		{
			rule: "strict rebuilds as soon as a file is removed",
			opt:  Options{Strict: true},
			do: func(s *scene) *Plan {
				s.outline("a", "1", 10)
				return s.turn()
			},
			want: "system| outline:x outline:y|^ outline:a|^ msg:1| msg:2| msg:3|^",
			cut:  CutStrict,
		},
		{
			rule: "unused entries are removed if they cost more than writing the rest",
			do: func(s *scene) *Plan {
				s.file("big", "1", 10_000)
				s.turn()
				s.drop("file:big")
				return s.turn()
			},
			want: head + "|^ msg:2| msg:3| msg:4| msg:5|^",
			cut:  CutCheap,
		},
		{
			rule: "context updates in the middle of a tool loop follow the batch",
			do: func(s *scene) *Plan {
				s.say(Item{Tokens: 50, Blocks: 24})
				s.file("a", "2", 100)
				return s.send()
			},
			want: head + "|^ msg:2| msg:3| file:a+2|^",
		},
	}
	for _, tt := range tests {
		t.Run(strings.ReplaceAll(tt.rule, " ", "_"), func(t *testing.T) {
			s := newScene(t, tt.opt)
			s.outline("y", "1", 10)
			s.outline("x", "1", 10)
			s.file("a", "1", 100)
			s.user(2000) // large enough to make a cut before it expensive
			s.send()
			s.reply(20)
			p := tt.do(s)
			if p == nil {
				return
			}
			s.wantLayout(p, tt.want)
			if p.Cut != tt.cut {
				t.Errorf("cut %q, want %q", p.Cut, tt.cut)
			}
		})
	}
}
