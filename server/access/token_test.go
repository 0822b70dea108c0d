package access

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestParseToken(t *testing.T) {
	hexText := strings.Repeat("0f", 32)
	base64Text := strings.Repeat("a-_Z", 10) + "abA"
	for name, test := range map[string]struct {
		text string
		want string // "" for ErrTokenFormat
	}{
		"hex":                   {hexText, hexText},
		"upper-case hex":        {strings.ToUpper(hexText), strings.ToUpper(hexText)},
		"base64url":             {base64Text, base64Text},
		"white space around":    {" \r\n\t" + hexText + " \n\n", hexText},
		"empty":                 {"", ""},
		"only white space":      {" \n", ""},
		"one digit short":       {hexText[1:], ""},
		"one digit long":        {hexText + "0", ""},
		"not hex":               {"g" + hexText[1:], ""},
		"padded base64":         {base64Text + "=", ""},
		"base64 with + and /":   {strings.Repeat("+", 42) + "A", ""},
		"spare bits in base64":  {strings.Repeat("A", 42) + "B", ""},
		"white space inside":    {hexText[:31] + " " + hexText[32:], ""},
		"two lines":             {hexText + "\n" + hexText, ""},
		"line break in base64":  {base64Text[:20] + "\n" + base64Text[21:], ""},
		"letters beyond ASCII":  {strings.Repeat("é", 32), ""},
		"a byte order mark":     {"\ufeff" + hexText, ""},
		"the length of neither": {strings.Repeat("A", 50), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := ParseToken(test.text)
			if test.want == "" {
				if !errors.Is(err, ErrTokenFormat) || !got.IsZero() {
					t.Fatalf("got a token or error %v", err)
				}
				if text := strings.TrimSpace(test.text); text != "" && strings.Contains(err.Error(), text) {
					t.Errorf("the error contains the text: %v", err)
				}
				return
			}
			if err != nil || got.Reveal() != test.want {
				t.Fatalf("error %v, or another text", err)
			}
		})
	}
}

func TestTokenMatches(t *testing.T) {
	a, b := NewToken(), NewToken()
	text := a.Reveal()
	if len(text) != base64TokenLen || text == b.Reveal() {
		t.Fatal("tokens are not 256 random bits in base64url")
	}
	for name, presented := range map[string]string{
		"other": b.Reveal(), "empty": "", "prefix": text[:42], "longer": text + "A", "white space": " " + text, "other case": strings.ToUpper(text),
	} {
		if a.Matches(presented) {
			t.Errorf("%s matches", name)
		}
	}
	if !a.Matches(text) {
		t.Error("its own text does not match")
	}
	if (Token{}).Matches("") || !(Token{}).IsZero() || (Token{}).Reveal() != "" {
		t.Error("the zero token matches something")
	}
}

func TestTokenIsMaskedHoweverItIsPrinted(t *testing.T) {
	token := NewToken()
	type open struct{ Token Token }
	type hidden struct{ token Token }
	var out strings.Builder
	for _, v := range []any{token, &token, open{token}, &open{token}, hidden{token}, &hidden{token}, []Token{token}, map[string]Token{"a": token}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%t", "%o", "%10.99s"} {
			fmt.Fprintf(&out, verb+"\n", v)
		}
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		out.Write(data)
		for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
			slog.New(h).Info("a", "v", v, slog.Group("g", "v", v))
		}
	}
	text, err := token.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	out.Write(text)
	out.WriteString(token.String())
	noSecret(t, out.String(), token)
	if !strings.Contains(out.String(), maskedToken) {
		t.Error("no mask either")
	}
}

// noSecret fails the test if text holds the token, or its bytes as fmt prints them.
func noSecret(t *testing.T, text string, token Token) {
	t.Helper()
	secret := token.Reveal()
	for _, form := range []string{secret, fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret), strings.Trim(fmt.Sprint([]byte(secret)), "[]")} {
		if strings.Contains(text, form) {
			t.Errorf("the token is in %q", text)
		}
	}
}

func TestTokenFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "folder", "token")
	if _, err := LoadToken(path); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("error %v, want fs.ErrNotExist", err)
	}
	made, err := LoadOrCreateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	again, err := LoadOrCreateToken(path)
	if err != nil || !made.Matches(again.Reveal()) {
		t.Fatalf("another token the second time, or error %v", err)
	}
	rotated, err := RotateToken(path)
	if err != nil || made.Matches(rotated.Reveal()) {
		t.Fatalf("the same token after a rotation, or error %v", err)
	}
	loaded, err := LoadToken(path)
	if err != nil || !rotated.Matches(loaded.Reveal()) {
		t.Fatalf("not the new token in the file, or error %v", err)
	}
	onlyFile(t, path)
}

// onlyFile fails the test if a temporary file was left beside path.
func onlyFile(t *testing.T, path string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(path) {
		t.Errorf("the folder contains %v, error %v", entries, err)
	}
}

func TestRotateTokenMakesTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "strata", "token")
	token, err := RotateToken(path)
	if err != nil {
		t.Fatal(err)
	}
	if loaded, err := LoadToken(path); err != nil || !token.Matches(loaded.Reveal()) {
		t.Fatalf("not the token in the file, or error %v", err)
	}
}

func TestLoadTokenRefusesWhatIsNotAToken(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "short": "secret", "too large": strings.Repeat("a", maxTokenFile+1),
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "token")
			if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, load := range []func(string) (Token, error){LoadToken, LoadOrCreateToken} {
				_, err := load(path)
				if err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("error %v, want one that names the file", err)
				}
			}
			if kept, err := os.ReadFile(path); err != nil || string(kept) != content {
				t.Error("the file was changed")
			}
		})
	}
	if _, err := LoadToken(t.TempDir()); err == nil {
		t.Error("a folder was read as a token")
	}
}

func TestFirstStartsAtOnceAgreeOnOneToken(t *testing.T) {
	const starts = 16
	path := filepath.Join(t.TempDir(), "strata", "token")
	tokens := make([]Token, starts)
	var wg sync.WaitGroup
	for i := range starts {
		wg.Go(func() {
			var err error
			if tokens[i], err = LoadOrCreateToken(path); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, token := range tokens[1:] {
		if !tokens[0].Matches(token.Reveal()) {
			t.Error("two starts have two tokens")
		}
	}
	onlyFile(t, path)
}
