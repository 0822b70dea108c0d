package replay

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

// Report replays every trace (*.jsonl) in dir with each of the given Layouts and prints, for each class of traces and for
// all:
//
//	sent      tokens of all requests
//	needed    tokens of all requests without unused entries, and without a cache
//	cost      the bill, in tokens at full price
//	relative  cost divided by needed, averaged over the traces
//	read      share of the sent tokens read from the cache, averaged over the traces
func Report(w io.Writer, dir string, layouts []string) error {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return fmt.Errorf("list traces: %w", err)
	}
	if len(paths) == 0 {
		return fmt.Errorf("no traces (*.jsonl) in %s", dir)
	}
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(out, "layout\tclass\ttraces\trequests\tsent\tneeded\tcost\trelative\tread\t")
	for _, layout := range layouts {
		rows, err := replayAll(paths, Defaults(layout))
		if err != nil {
			return err
		}
		for _, r := range rows {
			fmt.Fprintf(out, "%s\t%s\t%d\t%d\t%d\t%d\t%.0f\t%.3f\t%.1f%%\t\n", layout, r.class, r.traces,
				r.Requests, r.Tokens, r.needed, r.Cost, r.meanRelative(), 100*r.meanRead())
		}
	}
	return out.Flush()
}

// row is the cost of the traces of one class.
type row struct {
	class  string
	traces int
	Bill   // the total
	needed int

	relatives, reads float64 // sums over the traces
}

func (r row) meanRelative() float64 { return ratio(r.relatives, float64(r.traces)) }
func (r row) meanRead() float64     { return ratio(r.reads, float64(r.traces)) }

func (r row) add(s row) row {
	return row{
		class: r.class, traces: r.traces + s.traces, Bill: r.Bill.add(s.Bill), needed: r.needed + s.needed,
		relatives: r.relatives + s.relatives, reads: r.reads + s.reads,
	}
}

// replayAll returns a row for each class, sorted, and one for all.
func replayAll(paths []string, opt Options) ([]row, error) {
	byClass := map[string]row{}
	all := row{class: "all"}
	for _, path := range paths {
		r, err := replayFile(path, opt)
		if err != nil {
			return nil, fmt.Errorf("replay %s: %w", path, err)
		}
		all = all.add(r)
		if sum, ok := byClass[r.class]; ok {
			r = sum.add(r)
		}
		byClass[r.class] = r
	}
	rows := make([]row, 0, len(byClass)+1)
	for _, r := range byClass {
		rows = append(rows, r)
	}
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.class, b.class) })
	return append(rows, all), nil
}

// replayFile returns the row of one trace. Its class is the part of the recorded class before a dash.
func replayFile(path string, opt Options) (row, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return row{}, err
	}
	class, needed, err := need(bytes.NewReader(text))
	if err != nil {
		return row{}, err
	}
	var requests bytes.Buffer
	if err := Replay(bytes.NewReader(text), &requests, opt); err != nil {
		return row{}, err
	}
	bill, err := BillRequests(&requests)
	if err != nil {
		return row{}, err
	}
	return row{class, 1, bill, needed, ratio(bill.Cost, float64(needed)), bill.ReadShare()}, nil
}

// need returns a trace's class and the tokens needed by its requests.
func need(r io.Reader) (class string, tokens int, err error) {
	t, err := openTrace(r)
	if err != nil {
		return "", 0, err
	}
	w := newWorld(&t.header)
	for {
		u, err := t.next()
		if errors.Is(err, io.EOF) {
			class, _, _ = strings.Cut(t.Class, "-")
			return class, tokens, nil
		}
		if err != nil {
			return "", 0, err
		}
		w.ask(&u)
		tokens += w.tokens()
		for n, s := range u.Steps {
			w.act(s, n)
			tokens += w.tokens()
		}
		w.answer(&u)
	}
}

// tokens returns those of all items of the next request.
func (w *world) tokens() (n int) {
	for _, it := range w.items() {
		n += it.Tokens
	}
	return n
}
