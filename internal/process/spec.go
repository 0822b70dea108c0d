//go:build unix

package process

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
)

// protocol is the version of everything that a process and its supervisor send each other. It changes with them: on systems
// other than Linux a supervisor can be of a newer program, which has replaced the file of this one.
const protocol = "1"

// maxSpec is the maximum size of a spec in bytes: above that, no system takes the arguments and the environment.
const maxSpec = 64 << 20

var (
	errOtherProtocol = errors.New("the supervisor has another protocol")
	errTooLarge      = errors.New("arguments and environment exceed the limit of the system")
)

// spec is what a supervisor is to run. Its encoding is a length in 4 bytes and strings that are separated by NUL bytes, because
// arguments need not be UTF-8.
type spec struct {
	Command        // checked, without files
	groupOnly bool // end only the process group, as on systems other than Linux
}

func (s spec) encode() ([]byte, error) {
	fields := []string{protocol, strconv.FormatBool(s.groupOnly), s.Path, s.Dir, strconv.Itoa(len(s.Args))}
	fields = append(append(fields, s.Args...), s.Env...)
	text := strings.Join(fields, "\x00")
	if len(text) > maxSpec {
		return nil, errTooLarge
	}
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...), nil
}

// readSpec reads no further than the spec.
func readSpec(r io.Reader) (spec, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return spec{}, err
	}
	length := binary.BigEndian.Uint32(size[:])
	if length > maxSpec {
		return spec{}, errOtherProtocol
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(r, text); err != nil {
		return spec{}, err
	}
	return decode(strings.Split(string(text), "\x00"))
}

func decode(fields []string) (spec, error) {
	const head = 5
	if len(fields) < head || fields[0] != protocol {
		return spec{}, errOtherProtocol
	}
	rest := fields[head:]
	args, err := strconv.Atoi(fields[head-1])
	if err != nil || args < 0 || args > len(rest) {
		return spec{}, errOtherProtocol
	}
	c := Command{Path: fields[2], Dir: fields[3], Args: rest[:args], Env: rest[args:]}
	return spec{Command: c, groupOnly: fields[1] == strconv.FormatBool(true)}, nil
}

// report is a message of the supervisor, a line of JSON: one for the start, and one for the end if it started.
type report struct {
	Error   string `json:"error,omitempty"` // why the program did not start; for a user
	Started bool   `json:"started,omitempty"`
	Exit    *Exit  `json:"exit,omitempty"`
}

// Orders to the supervisor, each a byte after the spec. The end of the pipe is orderStop.
const (
	orderStop byte = 's' // SIGTERM, and SIGKILL after Grace
	orderKill byte = 'k' // SIGKILL
)
