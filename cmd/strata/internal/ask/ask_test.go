package ask

import "testing"

func TestFileURI(t *testing.T) {
	for path, want := range map[string]string{
		"/a b/c#1.txt": "file:///a%20b/c%231.txt",
		"/ä":           "file:///%C3%A4",
		"C:/x":         "file:///C:/x",
	} {
		if got := fileURI(path); got != want {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
}
