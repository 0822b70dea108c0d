package fit

import "testing"

func FuzzPassages(f *testing.F) {
	f.Add("--- FULL CONTENT: a ---\nx\n<file_content path=\"b\">y</file_content>z")
	f.Fuzz(func(t *testing.T, text string) {
		end := 0
		for _, c := range passages(text) {
			if c.Start < end || c.Body < c.Start || c.Stop < c.Body || c.End < c.Stop || c.End > len(text) {
				t.Fatalf("%+v in %q, after %d", c, text, end)
			}
			end = c.End
			c.shrink(text, c.linesOf(text))
			if c.End < c.Start || c.End > end || c.Stop < c.Body {
				t.Fatalf("%+v shrunk beyond %d", c, end)
			}
		}
	})
}
