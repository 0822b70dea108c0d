// Package sourcetree generates workspaces of source files in six languages that reference each other, for benchmarks of
// outlines.
//
// The same number must always give the same file. Only tests must use the package.
package sourcetree

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// minBytes is the minimum size of a file; the largest have some 100 bytes more.
const minBytes = 4000

// settling is the time after which the attributes of a written file identify its content.
const settling = 2100 * time.Millisecond

// Path returns the path of a file, relative to the workspace and with forward slashes.
func Path(file int) string { return stem(file) + "." + ending(file) }

func ending(file int) string { return endings[file%len(endings)] }

func stem(file int) string { return fmt.Sprintf("part%d/%s/file%d", file%20, module(file), file) }

func module(file int) string { return fmt.Sprintf("module%d", file%200) }

// Text returns the text of a file. It references up to three files with smaller numbers.
func Text(file int) string {
	l := languages[ending(file)]
	var text strings.Builder
	text.WriteString(l.head(file))
	for _, to := range references(file) {
		text.WriteString(l.reference(to))
	}
	text.WriteByte('\n')
	for _, to := range references(file) {
		if l.use != nil {
			text.WriteString(l.use(to))
		}
	}
	for at := first(file); text.Len() < minBytes; at++ {
		fmt.Fprintf(&text, l.definition, at)
	}
	return text.String()
}

// references returns the files of the same language that a file references.
func references(file int) []int {
	var all []int
	for _, distance := range []int{1, 7, 40} {
		if to := file - distance*len(endings); to >= 0 {
			all = append(all, to)
		}
	}
	return all
}

// Write writes the first n files and a go.mod file to a folder, and returns their size in bytes. It returns when the
// attributes of the files identify their content, after two seconds.
func Write(folder string, n int) (size int, err error) {
	files := map[string]string{"go.mod": "module " + goModule + "\n"}
	for file := range n {
		files[Path(file)] = Text(file)
	}
	for name, text := range files {
		if err := write(folder, name, text); err != nil {
			return 0, err
		}
		size += len(text)
	}
	time.Sleep(settling)
	return size, nil
}

// Change replaces the definitions of a file in the folder.
func Change(folder string, file int) error {
	const other = 999_996 // a multiple of the languages' number, larger than the numbers of written files
	return write(folder, Path(file), Text(file+other))
}

func write(folder, name, text string) error {
	target := filepath.Join(folder, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return err
	}
	return os.WriteFile(target, []byte(text), 0o600)
}
