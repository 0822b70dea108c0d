// Package keyboard reads lines that the user types at the terminal while a command runs.
//
// It must never read standard input that is not a terminal.
package keyboard

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"strata/cmd/strata/internal/cli"
)

// maxLine is the maximum size of a line, in bytes. The rest of a longer line is dropped.
const maxLine = 16 << 10

// Keyboard reads lines. It reads only while a line is wanted, or after a wait for a line was given up. Line must not be
// called concurrently.
type Keyboard struct {
	in      *bufio.Reader
	discard func()                // drops what was typed and not read
	stop    func() (stopped bool) // ends a read, if the system can
	reads   sync.WaitGroup

	mu      sync.Mutex
	reading bool
	wanted  chan<- line // of the newest call of Line; capacity 1
}

// line is a line or an error.
type line struct {
	text string
	err  error
}

// Open returns the keyboard of the process's terminal, or that of standard input if that is a terminal.
func Open(stdin any) (*Keyboard, error) {
	f, err := os.OpenFile(device, os.O_RDWR, 0)
	switch {
	case err == nil:
		return newKeyboard(f, func() { discard(f) }, func() bool { return closed(f) }), nil
	case cli.IsTerminal(stdin):
		f, _ := cli.File(stdin)
		return newKeyboard(f, func() { discard(f) }, func() bool { return false }), nil
	}
	return nil, err
}

// closed closes a file and reports whether that ends reads.
func closed(f *os.File) bool {
	stopped := f.SetReadDeadline(time.Now()) == nil
	return f.Close() == nil && stopped
}

func newKeyboard(in io.Reader, discard func(), stop func() bool) *Keyboard {
	return &Keyboard{in: bufio.NewReader(in), discard: discard, stop: stop}
}

// Line drops what was typed before, calls show, which shows what the line is wanted for, and returns the next line without
// its end. Text that the user ends with the end of the input instead is no line. The error is io.EOF at the end of the
// input, that of the terminal, or that of ctx.
func (k *Keyboard) Line(ctx context.Context, show func()) (string, error) {
	got := make(chan line, 1)
	k.want(got)
	show()
	select {
	case l := <-got:
		return l.text, l.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// want makes the next line one for got. A line for an earlier call that was given up is dropped with its channel.
func (k *Keyboard) want(got chan<- line) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.wanted = got
	k.discard()
	if !k.reading {
		k.reading = true
		k.reads.Go(k.read)
	}
}

// read reads one line.
func (k *Keyboard) read() {
	l := k.next()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.reading = false
	k.wanted <- l
}

func (k *Keyboard) next() line {
	k.in.Discard(k.in.Buffered())
	var text strings.Builder
	for {
		part, err := k.in.ReadSlice('\n')
		text.Write(part[:min(len(part), maxLine-text.Len())])
		switch {
		case err == nil:
			return line{text: strings.TrimRight(text.String(), "\r\n")}
		case !errors.Is(err, bufio.ErrBufferFull):
			return line{err: err}
		}
	}
}

// Close ends the use of the keyboard, after the last call of Line. Where the system cannot end a read, it lasts until the
// next line or the end of the process.
func (k *Keyboard) Close() {
	if k.stop() {
		k.reads.Wait()
	}
}
