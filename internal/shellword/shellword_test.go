package shellword

import (
	"os/exec"
	"testing"
)

// The shell reads each quoted word as the word itself.
func TestTheShellReadsTheWord(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	for _, word := range []string{
		"", "plain", "/home/me/strata.db", "/Users/me/Library/Application Support/strata", "Käse's \"q\" $HOME `id` \\ ! * ?", "-rf", "a\nb", "~/x", "#",
	} {
		out, err := exec.Command(sh, "-c", "printf %s "+Posix(word)).Output()
		if err != nil || string(out) != word {
			t.Errorf("%q became %s, which the shell reads as %q (%v)", word, Posix(word), out, err)
		}
	}
}

func TestPlainWordsStayPlain(t *testing.T) {
	for _, tt := range []struct{ word, posix, windows string }{
		{"/home/me/.local/share/strata/strata.db.schema-17", "/home/me/.local/share/strata/strata.db.schema-17", "/home/me/.local/share/strata/strata.db.schema-17"},
		{`C:\Users\me\strata.db`, `'C:\Users\me\strata.db'`, `C:\Users\me\strata.db`},
		{`C:\Users\Jo Doe\strata.db`, `'C:\Users\Jo Doe\strata.db'`, `"C:\Users\Jo Doe\strata.db"`},
		{"it's", `'it'\''s'`, `"it's"`},
	} {
		if got := Posix(tt.word); got != tt.posix {
			t.Errorf("Posix(%q) = %s, want %s", tt.word, got, tt.posix)
		}
		if got := quoteWindows(tt.word); got != tt.windows {
			t.Errorf("quoteWindows(%q) = %s, want %s", tt.word, got, tt.windows)
		}
	}
}
