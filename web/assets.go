package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// contentTypes are named here because the operating system's table may say something else, and a browser that is told
// not to guess would then drop the file.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

// asset is one file, as it is and compressed, with the tag that tells browsers whether theirs is still the same.
type asset struct {
	content     []byte
	compressed  func() []byte // gzip, made at the first call; empty where that is no shorter
	contentType string
	tag         string
}

// assets are all of them by their path. Each is compressed when it is first asked for: a page needs a third of them.
var assets = sync.OnceValue(loadAssets)

// Assets serves the files that pages are made with below "/assets/". They are the same for everybody and hold nothing
// private: the page that says how to get in needs them as well.
func Assets() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets()[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		a.serve(w, r)
	})
}

func (a *asset) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", a.contentType)
	h.Set("Cache-Control", "no-cache") // keep it, but ask each time
	h.Set("Vary", "Accept-Encoding")
	content, tag := a.content, a.tag
	if takesGzip(r) {
		if small := a.compressed(); len(small) > 0 {
			h.Set("Content-Encoding", "gzip")
			content, tag = small, a.tag+"-gzip"
		}
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
}

// takesGzip reports whether the client named gzip and did not refuse it.
func takesGzip(r *http.Request) bool {
	for _, header := range r.Header.Values("Accept-Encoding") {
		for coding := range strings.SplitSeq(header, ",") {
			name, weight, _ := strings.Cut(coding, ";")
			if strings.EqualFold(strings.TrimSpace(name), "gzip") {
				return !refused(weight)
			}
		}
	}
	return false
}

// refused reports whether a weight is 0, in any of its spellings.
func refused(weight string) bool {
	value, found := strings.CutPrefix(strings.TrimSpace(weight), "q=")
	return found && strings.Trim(value, "0.") == ""
}

func loadAssets() map[string]*asset {
	all := make(map[string]*asset)
	err := fs.WalkDir(assetFiles, "assets", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := assetFiles.ReadFile(name)
		if err == nil {
			all["/"+name] = newAsset(name, content)
		}
		return err
	})
	if err != nil {
		panic(err) // the folder is in the program
	}
	return all
}

func newAsset(name string, content []byte) *asset {
	sum := sha256.Sum256(content)
	return &asset{
		content: content, contentType: contentTypes[path.Ext(name)], tag: hex.EncodeToString(sum[:16]),
		compressed: sync.OnceValue(func() []byte {
			if small := compress(content); len(small) < len(content) {
				return small
			}
			return nil
		}),
	}
}

func compress(content []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		panic(err) // the level is a constant
	}
	if _, err := w.Write(content); err != nil {
		panic(err) // a buffer takes everything
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return out.Bytes()
}
