package access

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"strings"
)

const (
	tokenBytes     = 32 // 256 bits
	maskedToken    = "[token]"
	maxTokenFile   = 4 << 10 // bytes; leaves room for blank lines
	hexTokenLen    = 2 * tokenBytes
	base64TokenLen = 43 // base64url of 32 bytes without padding
)

// ErrTokenFormat means that a text is no token: neither 64 hexadecimal digits nor 43 characters of base64url without padding.
var ErrTokenFormat = errors.New("not a token: expected 64 hexadecimal digits or 43 characters of base64url")

// Token is the secret that authorizes clients: 256 random bits as text. Printing, logging and marshalling yield a mask;
// only Reveal returns the text. The zero Token matches nothing.
type Token struct {
	// A pointer, because fmt prints unexported fields of an enclosing struct without calling methods. It prints a pointer
	// to a string as an address, but a string, or a pointer to a struct, as its content.
	text *string
}

// NewToken returns a random token, in base64url.
func NewToken() Token {
	var bits [tokenBytes]byte
	rand.Read(bits[:]) // never fails
	text := base64.RawURLEncoding.EncodeToString(bits[:])
	return Token{&text}
}

// ParseToken parses a token and ignores white space around it. The error wraps ErrTokenFormat and names the length, never
// the text.
func ParseToken(s string) (Token, error) {
	s = strings.TrimSpace(s)
	var err error
	switch len(s) {
	case hexTokenLen:
		_, err = hex.DecodeString(s)
	case base64TokenLen:
		_, err = base64.RawURLEncoding.Strict().DecodeString(s)
	default:
		return Token{}, fmt.Errorf("%w, not %d characters", ErrTokenFormat, len(s))
	}
	if err != nil || strings.ContainsAny(s, "\r\n") { // the base64 decoder skips line breaks
		return Token{}, fmt.Errorf("%w; it contains another character", ErrTokenFormat)
	}
	return Token{&s}, nil
}

// LoadToken returns the token in the file at path. Errors wrap fs.ErrNotExist, ErrExposed or ErrTokenFormat.
func LoadToken(path string) (Token, error) {
	data, err := readPrivate(path, maxTokenFile)
	if err != nil {
		return Token{}, fmt.Errorf("token file: %w", err)
	}
	t, err := ParseToken(string(data))
	if err != nil {
		return Token{}, fmt.Errorf("token file %s: %w; run `strata token rotate` for a new one", path, err)
	}
	return t, nil
}

// LoadOrCreateToken returns the token in the file at path. If there is no file, it creates a token, the file (0600) and
// missing folders (0700). Of several concurrent processes one creates the token and all return it.
func LoadOrCreateToken(path string) (Token, error) {
	t, err := LoadToken(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return t, err
	}
	t = NewToken()
	err = createPrivate(path, t.line())
	if errors.Is(err, fs.ErrExist) {
		return LoadToken(path)
	}
	if err != nil {
		return Token{}, fmt.Errorf("create token file: %w", err)
	}
	return t, nil
}

// RotateToken writes a new token to the file at path, durably and atomically, and returns it. Running servers with this
// file take it up: see Options.TokenFile.
func RotateToken(path string) (Token, error) {
	t := NewToken()
	if err := replacePrivate(path, t.line()); err != nil {
		return Token{}, fmt.Errorf("rotate token: %w", err)
	}
	return t, nil
}

// Reveal returns the text of the token, for the private files and for clients that send it to the server.
func (t Token) Reveal() string {
	if t.text == nil {
		return ""
	}
	return *t.text
}

// IsZero reports whether there is no token.
func (t Token) IsZero() bool { return t.text == nil }

// Matches reports whether presented is the text of the token. Its timing reveals only the token's length.
func (t Token) Matches(presented string) bool {
	return t.text != nil && subtle.ConstantTimeCompare([]byte(presented), []byte(*t.text)) == 1
}

func (t Token) line() []byte { return []byte(t.Reveal() + "\n") }

// String returns a mask.
func (t Token) String() string { return maskedToken }

// Format writes a mask for every verb and flag.
func (t Token) Format(f fmt.State, _ rune) { io.WriteString(f, maskedToken) }

// LogValue returns a mask.
func (t Token) LogValue() slog.Value { return slog.StringValue(maskedToken) }

// MarshalText returns a mask.
func (t Token) MarshalText() ([]byte, error) { return []byte(maskedToken), nil }

// MarshalJSON returns a mask.
func (t Token) MarshalJSON() ([]byte, error) { return []byte(`"` + maskedToken + `"`), nil }
