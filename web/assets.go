package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"net/http"
	"path"
	"time"
)

//go:embed assets
var assetFiles embed.FS

// contentTypes are named here because the operating system's table may say something else, and a browser that is told
// not to guess would then drop the file.
var contentTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".svg": "image/svg+xml",
}

// asset is one file, with the tag that tells browsers whether theirs is still the same.
type asset struct {
	content     []byte
	contentType string
	tag         string
}

// Assets serves the files that pages are made with below "/assets/". They are the same for everybody and hold nothing
// private: the page that says how to get in needs them as well.
func Assets() http.Handler {
	assets := loadAssets()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", a.contentType)
		w.Header().Set("Cache-Control", "no-cache") // keep it, but ask each time
		w.Header().Set("ETag", a.tag)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.content))
	})
}

func loadAssets() map[string]asset {
	entries, err := assetFiles.ReadDir("assets")
	if err != nil {
		panic(err) // the folder is in the program
	}
	assets := make(map[string]asset, len(entries))
	for _, entry := range entries {
		content, err := assetFiles.ReadFile("assets/" + entry.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		assets["/assets/"+entry.Name()] = asset{
			content:     content,
			contentType: contentTypes[path.Ext(entry.Name())],
			tag:         `"` + hex.EncodeToString(sum[:16]) + `"`,
		}
	}
	return assets
}
