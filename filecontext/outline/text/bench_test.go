package text

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"strata/filecontext/outline"
)

// ownTree returns the files with outlines of this module, and the tokens of their texts.
func ownTree(tb testing.TB) (files []File, texts int) {
	parser := newParser(tb)
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); path != root && strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || name == "bin" {
				return filepath.SkipDir
			}
			return nil
		}
		if outline.LanguageOf(path) == "" {
			return nil
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		o, err := parser.Parse(tb.Context(), name, string(text))
		if errors.Is(err, outline.ErrTooLarge) {
			return nil
		}
		files, texts = append(files, File{filepath.ToSlash(name), o}), texts+count(string(text))
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return files, texts
}

// BenchmarkOwnTree renders this module's files and reports the tokens of the blocks beside those of the texts.
func BenchmarkOwnTree(b *testing.B) {
	files, texts := ownTree(b)
	a := FindAliases(files, count, Aliases{})
	for b.Loop() {
		render(files, a)
	}
	b.ReportMetric(float64(len(files)), "files")
	b.ReportMetric(float64(texts), "text-tokens")
	b.ReportMetric(float64(count(render(files, Aliases{}))), "tokens")
	b.ReportMetric(float64(count(render(files, a))), "tokens-with-aliases")
}

// BenchmarkSelect chooses among this module's files with a budget of 20,000 tokens, as before each request.
func BenchmarkSelect(b *testing.B) {
	files, _ := ownTree(b)
	full := Select(20_000, count, files, nil)
	for b.Loop() {
		Select(20_000, count, files, full)
	}
	b.ReportMetric(float64(len(full)), "files")
}
