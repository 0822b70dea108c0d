package filecontext

import "strata/internal/lazy"

// The names of temporary files next to those that are changed.
var tempName = lazy.Regexp(`^\.strata-tmp-([0-9a-f]{12})-[0-9a-f]{16}$`)

// TempName returns the name of a temporary file of a process, which has 12 hexadecimal digits; the file has 16.
func TempName(process, file string) string { return ".strata-tmp-" + process + "-" + file }

// TempOf returns the process of the temporary file with a name, or "". Such a file belongs to the program: it is neither listed
// nor read.
func TempOf(name string) (process string) {
	if m := tempName().FindStringSubmatch(name); m != nil {
		return m[1]
	}
	return ""
}
