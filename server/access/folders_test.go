package access

import "testing"

func TestFoldersWithinARoot(t *testing.T) {
	for dir, want := range map[string]bool{
		"/a/b": true, "/a/b/c": true, "/a/b/..c": true, "/a": false, "/": false, "/a/bc": false, "/a/c": false, "/x/a/b": false,
	} {
		if within(dir, "/a/b") != want {
			t.Errorf("%s within /a/b: %t", dir, !want)
		}
	}
}
