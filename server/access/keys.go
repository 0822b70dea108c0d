package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"io/fs"
	"log/slog"
	"os"
	"sync"
	"time"
)

// keys are the token that is in force, and what is derived from it. They are immutable: a new token has new keys, which
// ends everything that the old ones opened.
type keys struct {
	token  Token
	cookie []byte // seals cookies
	page   []byte // seals the secrets of pages
}

// newKeys derives the keys from the token, so that no cookie and no page reveals anything about the token, or one about
// the other.
func newKeys(t Token) *keys {
	return &keys{token: t, cookie: derive(t, "strata hud cookie key 2"), page: derive(t, "strata hud page key 2")}
}

func derive(t Token, purpose string) []byte {
	mac := hmac.New(sha256.New, []byte(t.Reveal()))
	mac.Write([]byte(purpose))
	return mac.Sum(nil)
}

// keyring holds the keys in force. It follows the token file, so that `strata token rotate` takes effect without a
// restart, for every server with this file. Safe for concurrent use.
type keyring struct {
	path    string // of the token file; empty: the token never changes
	log     *slog.Logger
	rotated func(Token)

	mu     sync.Mutex // held during rotated
	keys   *keys
	looked fs.FileInfo // the token file as it was read last
}

// current returns the keys in force. If the token file has changed, these are new keys.
func (k *keyring) current() *keys {
	k.mu.Lock()
	defer k.mu.Unlock()
	if token, changed := k.look(); changed {
		k.keys = newKeys(token)
		k.log.Info("the token was rotated")
		k.rotated(token)
	}
	return k.keys
}

// look returns the token in the file if it is another one. A file that is missing or cannot be used changes nothing.
func (k *keyring) look() (t Token, changed bool) {
	if k.path == "" {
		return t, false
	}
	info, err := os.Stat(k.path)
	if err != nil || k.looked != nil && os.SameFile(k.looked, info) && k.looked.Size() == info.Size() && k.looked.ModTime().Equal(info.ModTime()) {
		return t, false
	}
	t, err = LoadToken(k.path)
	if err != nil {
		return t, false
	}
	k.looked = info
	return t, !k.keys.token.Matches(t.Reveal())
}

// Grant is what a connection was opened with.
type Grant struct {
	Subprotocol string // to select: "acp" if the client offers it, else none

	keys    *keys
	expires time.Time // zero: with the keys
}

// Holds reports whether a grant still opens the server: its token is in force, and its day is not over.
func (g *Guard) Holds(grant Grant) bool {
	return grant.keys == g.ring.current() && (grant.expires.IsZero() || g.now().Before(grant.expires))
}
