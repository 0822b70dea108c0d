package filecontext

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"strata/filecontext/source"
)

// kept is a source of files in memory. Its list need not be that of the texts.
type kept struct {
	source.Files
	list  source.List
	texts map[string]source.Text
	asked []string
	most  int // texts that ReadSome returns; 0: all
}

func (k *kept) List(context.Context) (*source.List, error) { return &k.list, nil }
func (k *kept) Known() *source.List                        { return &k.list }

func (k *kept) Read(_ context.Context, path string, _ source.Reading) (source.Text, error) {
	k.asked = append(k.asked, path)
	text := k.texts[path]
	return text, text.Err
}

func (k *kept) ReadSome(_ context.Context, paths []string, _ source.Reading) (map[string]source.Text, error) {
	k.asked = append(k.asked, fmt.Sprint(len(paths)))
	all := make(map[string]source.Text)
	for _, path := range paths {
		if k.most == 0 || len(all) < k.most {
			all[path] = k.texts[path]
		}
	}
	return all, nil
}

func (k *kept) roots(t *testing.T) *Roots {
	t.Helper()
	r, err := NewRemoteRoots("/project", k, Limits{})
	must(t, err)
	return r
}

func refsOf(t *testing.T, r *Roots, paths ...string) (refs []Ref) {
	t.Helper()
	for _, path := range paths {
		ref, err := r.Locate(path)
		must(t, err)
		refs = append(refs, ref)
	}
	return refs
}

// A text of another version than the list is read again, also if the file has the version of the list again then. A text of the
// same version, or of a source without versions of texts, is not.
func TestVersionsOfTexts(t *testing.T) {
	for version, want := range map[string]bool{"1": true, "": true, "2": false} {
		k := &kept{
			list:  source.List{Files: []source.File{{Path: "a", Size: 3, Version: "1"}}},
			texts: map[string]source.Text{"a": {Data: []byte("one"), Version: version}},
		}
		r := k.roots(t)
		content, err := r.Read(t.Context(), refsOf(t, r, "a")[0])
		must(t, err)
		found, err := r.Survey(t.Context(), SurveyLimits{Files: 9})
		must(t, err)
		stamp := content.Stamp()
		if stamp.Current(found.Files[0].Stamp) != want {
			t.Errorf("version %q: current is %v", version, !want)
		}
	}
}

// Files are read together, within the number and the total size of a request.
func TestReadEach(t *testing.T) {
	k := &kept{texts: make(map[string]source.Text)}
	var paths []string
	for i := range 600 {
		path := fmt.Sprintf("%03d", i)
		paths = append(paths, path)
		k.texts[path] = source.Text{Data: []byte(path)}
		k.list.Files = append(k.list.Files, source.File{Path: path, Size: 3})
	}
	k.list.Files[599].Size = DefaultFileBytes + 1 // refused without a request
	for _, i := range []int{300, 301, 302} {
		k.list.Files[i].Size = DefaultFileBytes
	}
	k.texts["005"] = source.Text{Err: &RefusedError{Path: "005", Reason: ReasonMissing}}
	r := k.roots(t)
	got := make(map[int]string)
	must(t, r.ReadEach(t.Context(), refsOf(t, r, paths...), func(at int, content Content, err error) {
		if _, again := got[at]; again {
			t.Errorf("%d was found twice", at)
		}
		if got[at] = content.Text; err != nil {
			got[at] = string(ReasonOf(err))
		}
	}))
	for i, path := range paths {
		want := map[int]string{5: "missing", 599: "too_large"}[i]
		if want == "" {
			want = path
		}
		if got[i] != want {
			t.Errorf("%s: %q", path, got[i])
		}
	}
	if want := []string{"256", "45", "2", "256", "40"}; !slices.Equal(k.asked, want) {
		t.Errorf("asked for %q, want %q", k.asked, want)
	}
}

// Texts that a source does not return are asked for again.
func TestReadEachInParts(t *testing.T) {
	k := &kept{most: 2, texts: map[string]source.Text{"a": {}, "b": {}, "c": {}, "d": {}, "e": {}}}
	r := k.roots(t)
	n := 0
	must(t, r.ReadEach(t.Context(), refsOf(t, r, "a", "b", "c", "d", "e"), func(int, Content, error) { n++ }))
	if got := strings.Join(k.asked, " "); n != 5 || got != "5 3 1" {
		t.Errorf("%d files by %s", n, got)
	}
}
