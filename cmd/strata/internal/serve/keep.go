package serve

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"strata/cmd/strata/internal/config"
	"strata/filecontext"
	"strata/filecontext/change"
	"strata/internal/patience"
	"strata/session/approval"
)

// ruleFile is the user's configuration file, to which rules are added.
type ruleFile struct {
	path   string // absolute; the file may not exist
	setBy  string // the variable or flag that overrides tools.allow of the file; empty for none
	folder string // the user's configuration folder, which is created if it is missing
}

func newRuleFile(c *config.Config) ruleFile {
	f := ruleFile{path: c.File, folder: c.Folders.Config}
	if f.path == "" {
		f.path = filepath.Join(c.Folders.Config, config.FileName)
	}
	if o := c.Origin("tools.allow"); o.Line == 0 {
		f.setBy = o.Source
	}
	return f
}

// keep adds a rule to tools.allow in the file, unless the file contains the rule. All other bytes of the file, its mode, its
// owner, and a link to it do not change. keep implements permissions.Keeper.
func (f ruleFile) keep(ctx context.Context, rule approval.Rule) error {
	if f.setBy != "" {
		return fmt.Errorf("%s overrides tools.allow of the file; remove it and restart the server, or add the rule there", f.setBy)
	}
	path, data, err := f.read(ctx)
	if err != nil {
		return err
	}
	text := plainText(data)
	edited, err := config.WithAllowed(path, text, rule.String())
	if err != nil || edited == text {
		return err
	}
	return replace(ctx, path, data, edited)
}

// plainText returns the content of a file without a byte order mark, and with "\n" at the end of lines.
func plainText(data []byte) string {
	return strings.ReplaceAll(string(bytes.TrimPrefix(data, []byte("\ufeff"))), "\r\n", "\n")
}

// read returns the path of the file without links, and its content; nil if the file does not exist.
func (f ruleFile) read(ctx context.Context) (path string, data []byte, err error) {
	type file struct {
		path string
		data []byte
	}
	got, err := patience.Do(ctx, patience.Files, filepath.Dir(f.path), f.path, func() (file, error) {
		path, err := f.resolve()
		if err != nil {
			return file{}, err
		}
		data, err := readRegular(path)
		return file{path, data}, err
	})
	return got.path, got.data, err
}

// resolve returns the path of the file without links. If the file does not exist, resolve creates the configuration folder.
func (f ruleFile) resolve() (string, error) {
	path, err := filepath.EvalSymlinks(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		path, err = f.resolveNew()
	}
	switch {
	case err != nil:
		return "", err
	case filepath.Base(path) == config.WorkspaceFile, filepath.Base(f.path) == config.WorkspaceFile:
		return "", fmt.Errorf("%s is the file of a workspace, which cannot contain rules", path)
	}
	return path, nil
}

func (f ruleFile) resolveNew() (string, error) {
	if _, err := os.Lstat(f.path); err == nil {
		return "", fmt.Errorf("%s is a link to a file that does not exist; create the file or remove the link", f.path)
	}
	if err := os.MkdirAll(f.folder, 0o700); err != nil {
		return "", fmt.Errorf("configuration folder: %w", err)
	}
	folder, err := filepath.EvalSymlinks(filepath.Dir(f.path))
	return filepath.Join(folder, filepath.Base(f.path)), err
}

// maxRuleFile is larger than the limit of a configuration file, in bytes.
const maxRuleFile = 1 << 20

// readRegular returns the content of a file, nil if it does not exist.
func readRegular(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return io.ReadAll(io.LimitReader(file, maxRuleFile))
}

// replace replaces the text of a file and keeps its line ends. The error wraps change.ErrChanged if the content of the file is
// no longer data.
func replace(ctx context.Context, path string, data []byte, text string) error {
	plan, err := planOf(ctx, path, text)
	switch {
	case err != nil:
		return err
	case !bytes.Equal(plan.BeforeBytes, data):
		return fmt.Errorf("%s %w", path, change.ErrChanged)
	}
	return plan.Make(ctx)
}

// planOf plans to replace the text of a file.
func planOf(ctx context.Context, path, text string) (*change.Plan, error) {
	guard, err := filecontext.NewGuard(filecontext.GuardOptions{})
	if err != nil {
		return nil, err
	}
	roots, err := filecontext.NewRoots(ctx, filepath.Dir(path), nil, filecontext.Limits{Guard: guard, FileBytes: maxRuleFile})
	if err != nil {
		return nil, err
	}
	ref, err := roots.Locate(path)
	if err != nil {
		return nil, err
	}
	return change.Files{Roots: roots}.Write(ctx, ref, text)
}
