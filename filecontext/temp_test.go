package filecontext

import (
	"slices"
	"testing"
)

// Temporary files, also those of a process that crashed, are neither listed, nor found, nor read.
func TestTemporaryFilesAreNotShown(t *testing.T) {
	temp := TempName("0123456789ab", "0123456789abcdef")
	r := guarded(t, guard(t, GuardOptions{}), workspace(t, map[string]string{
		temp: "x", "dir/" + temp: "x", "dir/a.txt": "x", ".strata-tmp-notes": "x",
	}))
	want := []string{".strata-tmp-notes", "dir/a.txt"}
	if got := surveyed(survey(t, r, generous)); !slices.Equal(got, want) {
		t.Errorf("listed %q", got)
	}
	found, err := r.Find(t.Context(), "", 0)
	must(t, err)
	var paths []string
	for _, f := range found {
		paths = append(paths, f.Path)
	}
	if !slices.Equal(paths, want) {
		t.Errorf("found %q", paths)
	}
	for _, path := range []string{temp, "dir/" + temp} {
		_, err := read(t, r, path)
		wantReason(t, "read "+path, err, ReasonOwn)
		ref, err := r.Locate(path)
		must(t, err)
		_, err = r.SurveyOf(t.Context(), ref, generous)
		wantReason(t, "list "+path, err, ReasonOwn)
	}
}
