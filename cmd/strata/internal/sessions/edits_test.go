package sessions

import (
	"strings"
	"testing"
	"time"

	"strata/cmd/strata/internal/cli"
	"strata/history"
)

func TestDescriptionsOfEdits(t *testing.T) {
	at := time.Date(2026, 1, 5, 9, 30, 0, 0, time.Local)
	tests := []struct {
		name string
		edit listedEdit
		want string
	}{
		{"a compaction", listedEdit{
			Edit: history.Edit{
				Seq: 21, At: at, Kind: history.EditCompact, Strategy: "topic", Reason: "all but the last 2 exchanges summarised", Before: 5400, After: 900,
				Summary: "Decided: lists.\nNext: \x1b[31mmaps.", SummaryTokens: 12,
			},
			Ranges: []history.Range{{From: 3, To: 14}, {From: 16, To: 16}}, InForce: true,
		}, `
    21  2026-01-05 09:30:00  compact by topic
        5.4K -> 900 tokens
        messages 3-14, 16
        all but the last 2 exchanges summarised
        summary, 12 tokens:
          Decided: lists.
          Next: [31mmaps.
`},
		{"one that was taken back", listedEdit{Edit: history.Edit{Seq: 7, At: at, Kind: history.EditClear, SavedTokens: 80}}, `
     7  2026-01-05 09:30:00  clear, not in force
        80 tokens saved
`},
		{"copies and documents", listedEdit{
			Edit: history.Edit{
				Seq: 8, At: at, Kind: history.EditDedupe, Before: 100, After: 60, SavedChars: 160,
				Documents: []history.DocumentCut{{Name: "design", Keep: 40}},
			}, InForce: true,
		}, `
     8  2026-01-05 09:30:00  dedupe
        100 -> 60 tokens, 160 characters of copies saved
        document design: 40 bytes shown
`},
		{"a restore and an undo", listedEdit{
			Edit: history.Edit{Seq: 9, At: at, Kind: history.EditRestore, To: 4, Undoes: "edit_1", Before: 60, After: 100}, InForce: true,
		}, `
     9  2026-01-05 09:30:00  restore
        60 -> 100 tokens
        to position 4
        undoes edit_1
`},
	}
	for _, tt := range tests {
		want := strings.Replace(tt.want, "Next: [31m", "Next: "+cli.Printable("\x1b")+"[31m", 1)
		if got := tt.edit.describe(); got != want {
			t.Errorf("%s:\n%q\nwant\n%q", tt.name, got, want)
		}
	}
}
