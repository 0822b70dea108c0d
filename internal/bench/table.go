// Package bench measures the server as its users experience it: the real binary in its own process. Most figures
// have a reference, measured alternately with the figure, so that other load on the machine affects both.
// `make bench` prints the table; docs/benchmarks.md explains its lines.
//
// It must never be imported, and no test may fail for being slow: it only prints figures.
package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
)

// unit formats a figure.
type unit func(float64) string

// The units of figures.
var (
	nanoseconds unit = func(v float64) string {
		d := time.Duration(v)
		switch {
		case d.Abs() >= 10*time.Millisecond:
			return d.Round(time.Millisecond / 10).String()
		case d.Abs() >= 10*time.Microsecond:
			return d.Round(time.Microsecond).String()
		}
		return d.Round(10 * time.Nanosecond).String()
	}
	kibibytes unit = func(v float64) string { return fmt.Sprintf("%.1f KiB", v/(1<<10)) }
	mebibytes unit = func(v float64) string { return fmt.Sprintf("%.1f MiB", v/(1<<20)) }
	perSecond unit = func(v float64) string { return fmt.Sprintf("%.0f/s", v) }
	megabytes unit = func(v float64) string { return fmt.Sprintf("%.2f MB/s", v/1e6) } // of a rate in bytes per second
	times     unit = func(v float64) string { return fmt.Sprintf("%.2fx", v) }
)

// row is one line of the table. A target applies to compared, which is the figure itself if there is no reference.
type row struct {
	measure   string
	unit      unit // of figure and reference
	figure    float64
	reference float64
	of        string // description of the reference; empty for none

	compared float64
	with     unit    // of compared and target: times for a ratio, or unit for a difference; nil if nothing is compared
	target   float64 // 0 for none
	atLeast  bool    // the target is a lower bound
}

// alone returns a row whose target applies to the figure itself.
func alone(measure string, u unit, figure, target float64) row {
	return row{measure: measure, unit: u, figure: figure, compared: figure, with: u, target: target}
}

// versus adds a reference to which the target does not apply.
func (r row) versus(reference float64, of string) row {
	r.reference, r.of = reference, of
	return r
}

func (r row) met() string {
	switch {
	case r.target == 0:
		return ""
	case r.atLeast == (r.compared >= r.target), r.compared == r.target:
		return "yes"
	}
	return "NO"
}

// cells returns the cells of r.
func (r row) cells() []string {
	cells := []string{r.measure, r.unit(r.figure), "", "", "", r.met(), r.of}
	if r.of != "" {
		cells[2] = r.unit(r.reference)
	}
	if r.with != nil && r.compared != r.figure {
		cells[3] = r.with(r.compared)
	}
	if r.target != 0 {
		sign := "<= "
		if r.atLeast {
			sign = ">= "
		}
		cells[4] = sign + r.with(r.target)
	}
	return cells
}

// heading is the first line of the table; .ci/bench looks for its first word.
var heading = []string{"measure", "strata", "reference", "comparison", "target", "met", "the reference is"}

// writeTable writes rows as a table.
func writeTable(w io.Writer, rows []row) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, strings.Join(heading, "\t"))
	for _, r := range rows {
		fmt.Fprintln(out, strings.Join(r.cells(), "\t"))
	}
	return out.Flush()
}
