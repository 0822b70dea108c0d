package fit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPassages(t *testing.T) {
	for _, c := range []struct {
		text string
		want []string // path and text
	}{
		{"nothing here", nil},
		{"--- FULL CONTENT: a b.go ---\r\nx\n--- FULL CONTENT: c ---\ny", []string{"a b.go:--- FULL CONTENT: a b.go ---\r\nx\n", "c:--- FULL CONTENT: c ---\ny"}},
		{"so: <file_content path=\"a\">x</file_content> and <file_content path=\"b\">y", []string{"a:<file_content path=\"a\">x</file_content>", "b:<file_content path=\"b\">y"}},
		{"FULL CONTENT of file: a\n", []string{"a:FULL CONTENT of file: a\n"}},
		{" FULL CONTENT of file: indented", nil},
		{"<file_content path=\"a\"><file_content path=\"b\"></file_content>", []string{"a:<file_content path=\"a\"><file_content path=\"b\"></file_content>"}},
	} {
		var got []string
		for _, p := range passages(c.text) {
			got = append(got, p.path+":"+c.text[p.start:p.end])
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%q: %s", c.text, diff)
		}
	}
}

func FuzzPassages(f *testing.F) {
	f.Add("--- FULL CONTENT: a ---\nx\n<file_content path=\"b\">y</file_content>z")
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, c := range passages(text) {
			if c.start < end || c.body < c.start || c.end < c.body || c.end > len(text) {
				t.Fatalf("%+v in %q, after %d", c, text, end)
			}
			end = c.end
			c.shrink(text, c.lines(text))
			if c.end < c.start || c.end > end {
				t.Fatalf("%+v shrunk beyond %d", c, end)
			}
		}
	})
}
