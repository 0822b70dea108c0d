package filecontext

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Guard decides what sessions must not read, whatever their folders are: anything outside the configured folders, the
// files of the program itself, and, unless the user allows it, files that look like secrets. The nil Guard forbids
// nothing. Safe for concurrent use.
type Guard struct {
	within  []*place
	own     []string // paths of files, and of folders with everything in them
	secrets secrets
}

// GuardOptions are the rules of a Guard.
type GuardOptions struct {
	Within  []string // existing folders, one of which must contain each folder of a session; none: any folder
	Own     []string // paths of the program's own files and folders; they need not exist
	Secrets []string // patterns of secret-looking files; see CheckSecretPattern
}

// NewGuard returns a Guard. The error names the folder or the pattern that cannot be used.
func NewGuard(opt GuardOptions) (*Guard, error) {
	g := &Guard{own: slices.DeleteFunc(slices.Clone(opt.Own), func(path string) bool { return path == "" })}
	for _, folder := range opt.Within {
		resolved, err := filepath.EvalSymlinks(folder)
		if err != nil {
			return nil, err
		}
		p, err := newPlace(resolved, nil)
		if err != nil {
			return nil, err
		}
		g.within = append(g.within, p)
	}
	var err error
	g.secrets, err = parseSecrets(opt.Secrets)
	return g, err
}

// admit returns the place of a folder of a session.
func (g *Guard) admit(resolved string) (*place, error) {
	if g == nil || len(g.within) == 0 {
		return newPlace(resolved, nil)
	}
	for _, above := range g.within {
		switch name, ok := inside(above.path, resolved); {
		case ok && name == ".":
			return above, nil
		case ok:
			return newPlace(resolved, above)
		}
	}
	return nil, errors.New("outside the folders that contain all workspaces")
}

// OpenFolder opens a folder of a session by its path, for files that are not those of its context.
func (g *Guard) OpenFolder(folder string) (*os.Root, error) {
	resolved, err := filepath.EvalSymlinks(folder)
	if err != nil {
		return nil, err
	}
	place, err := g.admit(resolved)
	if err != nil {
		return nil, err
	}
	return place.open()
}

// check refuses a file that must not be read. info is the identity of the file, nil if it does not exist. It reports
// whether the file looks like a secret, which is refused only if ref does not allow it.
func (g *Guard) check(ref Ref, info fs.FileInfo) (secret bool, err error) {
	if g == nil {
		return false, nil
	}
	path := filepath.Join(ref.place.path, ref.name)
	real, err := realPath(path)
	if err != nil {
		return false, refuseOS(ref.Path, err)
	}
	if info != nil {
		// The file was opened by the same path. If this is another one, one of its folders was replaced in between.
		if now, err := os.Lstat(real); err != nil || !os.SameFile(now, info) {
			return false, refuse(ref.Path, ReasonReplaced, "")
		}
	}
	if g.owns(real, info) {
		return false, refuse(ref.Path, ReasonOwn, "")
	}
	secret = g.secrets.match(path) || g.secrets.match(real)
	if secret && !ref.Allow {
		return true, refuse(ref.Path, ReasonSecret, "")
	}
	return secret, nil
}

// LooksSecret reports whether a path or a `file:` URI, in the roots or elsewhere, is that of a secret-looking file.
func (g *Guard) LooksSecret(pathOrURI string) bool {
	path := pathOrURI
	if isURI(path) {
		path, _, _ = parseURI(pathOrURI, runtime.GOOS == "windows")
	}
	return g != nil && path != "" && g.secrets.match(path)
}

// owns reports whether a file is one of the program's own, or in one of its folders, under whatever name. The path has no
// links.
func (g *Guard) owns(real string, info fs.FileInfo) bool {
	if info == nil && slices.ContainsFunc(g.own, func(path string) bool { return samePath(path, real) }) {
		return true
	}
	own := g.ownFiles()
	return own.holds(filepath.Dir(real)) || info != nil && own.isOne(info)
}

// samePath reports whether a path, which may have links, is the path real but for the case of letters.
func samePath(path, real string) bool {
	resolved, err := realPath(path)
	return err == nil && strings.EqualFold(resolved, real)
}

// ownFiles are the identities of the program's own files and folders at one moment: files come and go.
type ownFiles struct {
	folders []fs.FileInfo
	files   []fs.FileInfo
	paths   []string      // of the folders
	inside  []fs.FileInfo // files in the folders; nil until isOne needs them
}

// maxOwn bounds the files of the program's own folders that are compared.
const maxOwn = 10_000

var errTooMany = errors.New("too many files")

// ownFiles returns the identities of the program's own files and folders as they are now.
func (g *Guard) ownFiles() ownFiles {
	var o ownFiles
	if g != nil {
		for _, path := range g.own {
			o.add(path)
		}
	}
	return o
}

func (o *ownFiles) add(path string) {
	switch info, err := os.Stat(path); {
	case err != nil:
	case info.IsDir():
		o.folders, o.paths = append(o.folders, info), append(o.paths, path)
	default:
		o.files = append(o.files, info)
	}
}

// isFolder reports whether a folder is one of the program's own.
func (o *ownFiles) isFolder(info fs.FileInfo) bool {
	return slices.ContainsFunc(o.folders, func(f fs.FileInfo) bool { return os.SameFile(f, info) })
}

// holds reports whether a folder is one of the program's own or below it. The path has no links.
func (o *ownFiles) holds(folder string) bool {
	if len(o.folders) == 0 {
		return false
	}
	for {
		if info, err := os.Stat(folder); err == nil && o.isFolder(info) {
			return true
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return false
		}
		folder = parent
	}
}

// isOne reports whether a file is one of the program's own. A file with several hard links can also be one of those in
// its folders; if these are too many to compare, it counts as one.
func (o *ownFiles) isOne(info fs.FileInfo) bool {
	is := func(f fs.FileInfo) bool { return os.SameFile(f, info) }
	if slices.ContainsFunc(o.files, is) {
		return true
	}
	if len(o.paths) == 0 || hasOneName(info) {
		return false
	}
	if o.inside == nil {
		o.inside = []fs.FileInfo{}
		for _, folder := range o.paths {
			if o.scan(folder) != nil {
				return true
			}
		}
	}
	return slices.ContainsFunc(o.inside, is)
}

// scan adds the files below one of the program's folders to inside. Files that vanish meanwhile are skipped.
func (o *ownFiles) scan(folder string) error {
	return filepath.WalkDir(folder, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil
		}
		if len(o.inside) == maxOwn {
			return errTooMany
		}
		if info, err := e.Info(); err == nil {
			o.inside = append(o.inside, info)
		}
		return nil
	})
}

// realPath returns a path without links. The file, and folders before it, need not exist.
func realPath(path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	parent := filepath.Dir(path)
	if parent == path {
		return "", err
	}
	if real, err = realPath(parent); err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(path)), nil
}

// CheckSecretPattern returns an error if a text is not a pattern of secret-looking files: a name such as "*.pem", a
// folder with everything in it such as ".ssh/", or the end of a path such as ".docker/config.json". "!" before it makes
// an exception from the patterns before, and the pattern "default" stands for the built-in ones. Case is ignored; each
// part between slashes has the syntax of path.Match.
func CheckSecretPattern(text string) error {
	_, err := parseSecrets([]string{text})
	return err
}

// BuiltinSecrets is the pattern that stands for the built-in ones.
const BuiltinSecrets = "default"

// builtinSecrets are the files in which keys, tokens and passwords usually are.
var builtinSecrets = []string{
	".env*", "!.env.example", "!.env.sample", "!.env.template", "!.env.dist",
	"id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "!id_*.pub",
	"*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
	".netrc", "_netrc", ".pgpass", ".my.cnf", ".htpasswd", ".npmrc", ".pypirc", ".git-credentials", ".vault-token", ".terraformrc",
	"credentials", "credentials.json", "application_default_credentials.json", "kubeconfig",
	".ssh/", ".gnupg/", ".aws/", ".azure/", ".kube/", ".docker/config.json", ".config/gcloud/",
}

// secrets are the patterns of secret-looking files. The last one that matches a file counts.
type secrets []secretPattern

type secretPattern struct {
	parts  []string // of the path, in lower case
	folder bool     // the parts are folders anywhere in the path, not its end
	except bool
}

func parseSecrets(patterns []string) (secrets, error) {
	var all secrets
	for _, text := range patterns {
		if text == BuiltinSecrets {
			builtin, err := parseSecrets(builtinSecrets)
			if err != nil {
				return nil, err
			}
			all = append(all, builtin...)
			continue
		}
		p, err := parseSecret(text)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

func parseSecret(text string) (secretPattern, error) {
	var p secretPattern
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

// match reports whether an absolute path looks like that of a secret.
func (s secrets) match(path string) bool {
	steps := strings.Split(strings.ToLower(filepath.ToSlash(path)), "/")
	secret := false
	for _, p := range s {
		if p.except == secret && p.match(steps) {
			secret = !p.except
		}
	}
	return secret
}

func (p *secretPattern) match(steps []string) bool {
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

func (p *secretPattern) matchAt(steps []string) bool {
	for i, part := range p.parts {
		if ok, err := filepath.Match(part, steps[i]); err != nil || !ok {
			return false
		}
	}
	return true
}
