package process

import "os/exec"

// connect gives a process the files of the command. A nil *os.File is no nil reader.
func (c Command) connect(cmd *exec.Cmd) {
	if c.Stdin != nil {
		cmd.Stdin = c.Stdin
	}
	if c.Stdout != nil {
		cmd.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		cmd.Stderr = c.Stderr
	}
}
