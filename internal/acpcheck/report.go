package acpcheck

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// Status is the result of a check.
type Status string

// The results of a check, as printed by the scripts.
const (
	OK   Status = "ok"
	Fail Status = "FAIL"
	Skip Status = "skip"
)

// Check is one check by a client.
type Check struct {
	Status Status
	Name   string
	Detail string // details of the result; may be empty
}

// String returns the check in the format of the scripts.
func (c Check) String() string {
	line := fmt.Sprintf("%-4s %s", c.Status, c.Name)
	if c.Detail != "" {
		line += detailMark + c.Detail
	}
	return line
}

// Report is the report of a client.
type Report struct {
	Checks []Check
	Output string // its whole output, including errors
}

// With returns the checks with the given status.
func (r Report) With(status Status) []Check {
	var found []Check
	for _, c := range r.Checks {
		if c.Status == status {
			found = append(found, c)
		}
	}
	return found
}

// Run runs one of the installed scripts. A failed check is not an error; the error means that the script did not run to its end.
func Run(ctx context.Context, dir, script string, args ...string) (Report, error) {
	cmd := exec.CommandContext(ctx, "node", append([]string{filepath.Join(dir, script)}, args...)...)
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	runErr := cmd.Run()
	report, err := parse(out.String())
	var exit *exec.ExitError
	switch {
	case runErr != nil && !errors.As(runErr, &exit):
		err = runErr
	case err == nil && (runErr != nil) != (len(report.With(Fail)) > 0):
		err = fmt.Errorf("ended with %v after %d failures", runErr, len(report.With(Fail)))
	}
	if err != nil {
		return report, fmt.Errorf("run %s: %w\n%s", script, err, report.Output)
	}
	return report, nil
}

// detailMark separates the name of a check from its details.
const detailMark = "  -- "

var (
	checkLine   = regexp.MustCompile(`^(ok|FAIL|skip) +(.+)$`)
	summaryLine = regexp.MustCompile(`^# \d+ ok, \d+ FAIL, \d+ skip$`)
)

// parse parses the output of a script. The last line has the numbers of checks, which must match.
func parse(output string) (Report, error) {
	report := Report{Output: output}
	summary := ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if summaryLine.MatchString(line) {
			summary = line
		}
		if m := checkLine.FindStringSubmatch(line); m != nil {
			name, detail, _ := strings.Cut(m[2], detailMark)
			report.Checks = append(report.Checks, Check{Status(m[1]), name, detail})
		}
	}
	want := fmt.Sprintf("# %d ok, %d FAIL, %d skip", len(report.With(OK)), len(report.With(Fail)), len(report.With(Skip)))
	if summary != want {
		return report, fmt.Errorf("the last line is %q, want %q", summary, want)
	}
	return report, nil
}
