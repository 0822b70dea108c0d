package replay

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"strata/stability"
)

// Report replays every trace (*.jsonl) in dir with each of the layouts and prints what it costs: a table by class of
// trace with the totals.
func Report(w io.Writer, dir string, layouts []string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return fmt.Errorf("list traces: %w", err)
	}
	if len(paths) == 0 {
		return fmt.Errorf("no traces (*.jsonl) in %s", dir)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "layout\tclass\ttraces\trequests\tsent\tcost\trelative\tread\t")
	for _, layout := range layouts {
		rows, err := replayAll(paths, stability.Options{Layout: layout, Target: stability.DefaultTarget})
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%.0f\t%.3f\t%.1f%%\t\n", layout, r.class, r.traces,
				r.Requests, r.Tokens, r.Cost, r.Relative(), 100*r.ReadShare())
		}
	}
	return out.Flush()
}

// row is the bill of one class of traces.
type row struct {
	class  string
	traces int
	Bill
}

// replayAll returns a row for each class, sorted, and one for the total.
func replayAll(paths []string, opt stability.Options) ([]row, error) {
	byClass := map[string]row{}
	total := row{class: "total"}
	for _, path := range paths {
		class, bill, err := replayFile(path, opt)
		if err != nil {
			return nil, fmt.Errorf("replay %s: %w", path, err)
		}
		r := byClass[class]
		byClass[class] = row{class, r.traces + 1, r.add(bill)}
		total = row{total.class, total.traces + 1, total.add(bill)}
	}
	rows := make([]row, 0, len(byClass)+1)
	for _, r := range byClass {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.class, b.class) })
	return append(rows, total), nil
}

// replayFile returns a trace's class, the part of it in front of a dash, and its bill.
func replayFile(path string, opt stability.Options) (string, Bill, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", Bill{}, err
	}
	t, err := openTrace(bytes.NewReader(text))
	if err != nil {
		return "", Bill{}, err
	}
	var requests bytes.Buffer
	if err := Replay(bytes.NewReader(text), &requests, opt); err != nil {
		return "", Bill{}, err
	}
	bill, err := BillRequests(&requests)
	class, _, _ := strings.Cut(t.Class, "-")
	return class, bill, err
}
