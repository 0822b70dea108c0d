package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// checked returns the command with one value for each variable of its environment, and PWD, or why the system cannot run any
// such command.
func (c Command) checked() (Command, error) {
	switch {
	case c.Path == "":
		return c, errors.New("program is missing")
	case !filepath.IsAbs(c.Path) && filepath.Base(c.Path) != c.Path:
		return c, fmt.Errorf("program %q: use an absolute path, or a name to look up in PATH", c.Path)
	case !filepath.IsAbs(c.Dir):
		return c, fmt.Errorf("folder %q: use an absolute path", c.Dir)
	}
	const nul = "\x00"
	for _, text := range slices.Concat([]string{c.Path, c.Dir, c.Verbatim}, c.Args, c.Env) {
		if strings.Contains(text, nul) {
			return c, errors.New("program, folder, arguments and environment must not contain NUL bytes")
		}
	}
	env := append([]string{}, c.Env...) // not nil, which is the environment of this process
	c.Env = (&exec.Cmd{Env: env, Dir: c.Dir}).Environ()
	return c, nil
}

// find returns the path of the executable, or why it or the folder cannot be used. The command must be checked.
func (c Command) find() (string, error) {
	if err := c.checkFolder(); err != nil {
		return "", err
	}
	if filepath.IsAbs(c.Path) {
		path, err := exec.LookPath(c.Path)
		if err != nil {
			return "", fmt.Errorf("program %s: %w", c.Path, reason(err))
		}
		return path, nil
	}
	return c.lookUp()
}

func (c Command) checkFolder() error {
	info, err := os.Stat(c.Dir)
	if err != nil {
		return fmt.Errorf("folder %s: %w", c.Dir, reason(err))
	}
	if !info.IsDir() {
		return fmt.Errorf("folder %s: not a folder", c.Dir)
	}
	return nil
}

// lookUp finds the program in the PATH of its environment.
func (c Command) lookUp() (string, error) {
	for _, folder := range filepath.SplitList(variable(c.Env, "PATH")) {
		path := filepath.Join(folder, c.Path)
		if !filepath.IsAbs(path) {
			path = filepath.Join(c.Dir, path)
		}
		found, err := exec.LookPath(path)
		if err != nil {
			continue
		}
		if !filepath.IsAbs(folder) {
			return "", fmt.Errorf("program %q: PATH finds it in %q, which is not an absolute path", c.Path, folder)
		}
		return found, nil
	}
	return "", fmt.Errorf("program %q not found in PATH", c.Path)
}

// variable returns the value of a variable in an environment that has each name once.
func variable(env []string, name string) string {
	for _, setting := range env {
		if key, value, _ := strings.Cut(setting, "="); sameVariable(key, name) {
			return value
		}
	}
	return ""
}

// cannotStart returns the error for a user of a program that was found and that the system refuses to start.
func cannotStart(path string, err error) error {
	switch {
	case errors.Is(err, syscall.E2BIG):
		return fmt.Errorf("program %s: arguments and environment exceed the limit of the system", path)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Errorf("program %s: not a program for this system, or a script without #! line", path)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("program %s: its interpreter does not exist", path)
	}
	return fmt.Errorf("program %s: %w", path, reason(err))
}

// reason returns the error of a system call without the call and its path, in words for a user.
func reason(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, exec.ErrNotFound):
		return errors.New("does not exist")
	case errors.Is(err, syscall.EISDIR):
		return errors.New("is a folder")
	}
	var number syscall.Errno
	if errors.As(err, &number) {
		return number
	}
	return err
}
