package mcp

import (
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestEachReportOfProgressStartsTheTimeOfACallAnew(t *testing.T) {
	for name, c := range map[string]struct {
		every, reports, answer time.Duration // seconds; reports is their number
		ends                   time.Duration
		err                    error
	}{
		"an answer after much progress":   {every: 29, reports: 20, answer: 581, ends: 581},
		"progress that stops":             {every: 29, reports: 3, answer: 300, ends: 3*29 + 30, err: errIdle},
		"no progress":                     {answer: 31, ends: 30, err: errIdle},
		"progress until the time is over": {every: 29, reports: 100, answer: 700, ends: 600, err: errTooLong},
		"an answer within the time":       {answer: 29, ends: 29},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, reports, answers := time.Now(), make(chan string, 1), make(chan answer, 1)
				time.AfterFunc(c.answer*time.Second, func() { answers <- answer{result: &sdk.CallToolResult{}} })
				for i := range c.reports {
					time.AfterFunc((i+1)*c.every*time.Second, func() {
						select {
						case reports <- "more":
						default:
						}
					})
				}
				a := await(t.Context(), standard, answers, reports, func(string) {})
				equal(t, "time", time.Since(began), c.ends*time.Second)
				if a.err != c.err {
					t.Errorf("the error is %v", a.err)
				}
			})
		})
	}
}
