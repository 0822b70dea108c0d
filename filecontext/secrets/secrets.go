// Package secrets recognizes secret-looking files by their names: those that usually contain keys, tokens and passwords. No I/O.
package secrets

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Builtin is the pattern that includes all built-in patterns.
const Builtin = "default"

// builtin are the files in which keys, tokens and passwords usually are.
var builtin = []string{
	".env*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.pub",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".npmrc", ".pypirc", ".git-credentials", ".vault-token", ".terraformrc",
	"credentials", "credentials.json", "application_default_credentials.json", "kubeconfig",
	".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", ".docker/config.json", ".config/gcloud/",
}

// Check returns an error if a text is not a pattern, as Parse does.
func Check(text string) error {
	_, err := Parse([]string{text})
	return err
}

// Patterns are those of secret-looking files. The last one that matches a file counts.
type Patterns []pattern

type pattern struct {
	parts  []string // of the path, in lower case
	folder bool     // the parts are folders anywhere in the path, not its end
	except bool
}

// Parse returns the patterns of texts. A text is a name such as "*.pem", a folder with everything in it such as ".ssh/", or
// the end of a path such as ".docker/config.json". "!" before it makes an exception from the patterns before, and Builtin
// includes all built-in patterns. Case is ignored; each part between slashes has the syntax of path.Match.
func Parse(patterns []string) (Patterns, error) {
	var all Patterns
	for _, text := range patterns {
		if text == Builtin {
			known, err := Parse(builtin)
			if err != nil {
				return nil, err
			}
			all = append(all, known...)
			continue
		}
		p, err := parse(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func parse(text string) (pattern, error) {
	var p pattern
	rest, except := strings.CutPrefix(text, "!")
	rest, folder := strings.CutSuffix(strings.TrimPrefix(rest, "**/"), "/")
	p.except, p.folder = except, folder
	for part := range strings.SplitSeq(strings.ToLower(rest), "/") {
		if _, err := filepath.Match(part, ""); err != nil || part == "" || strings.ContainsRune(part, 0) {
			return p, fmt.Errorf("%q is not a pattern of files", text)
		}
		p.parts = append(p.parts, part)
	}
	return p, nil
}

// Match reports whether an absolute path looks like that of a secret.
func (s Patterns) Match(path string) bool {
	steps := strings.Split(strings.ToLower(filepath.ToSlash(path)), "/")
	secret := false
	for _, p := range s {
		if p.except == secret && p.match(steps) {
			secret = !p.except
		}
	}
	return secret
}

func (p *pattern) match(steps []string) bool {
	if !p.folder {
		return len(steps) >= len(p.parts) && p.matchAt(steps[len(steps)-len(p.parts):])
	}
	for i := 0; i+len(p.parts) < len(steps); i++ {
		if p.matchAt(steps[i:]) {
			return true
		}
	}
	return false
}

func (p *pattern) matchAt(steps []string) bool {
	for i, part := range p.parts {
		if ok, err := filepath.Match(part, steps[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
