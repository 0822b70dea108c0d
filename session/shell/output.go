package shell

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"

	"strata/internal/clip"
	"strata/session/tools"
)

// output is the output of a command so far. It is safe for concurrent use.
type output struct {
	mu    sync.Mutex // guards all fields
	plain plain
	kept  kept
	live  live
	shown int64 // end of what newest has returned
}

// Write takes the next part of the output. It implements io.Writer, and has no error.
func (o *output) Write(part []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(o.plain.append(nil, part))
	return len(part), nil
}

func (o *output) put(text []byte) {
	o.kept.put(text)
	o.live.put(text)
}

// newest returns the output for clients, and whether it has changed since the last call.
func (o *output) newest() (tools.Output, bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	changed := o.live.end != o.shown
	o.shown = o.live.end
	return tools.Output{Text: o.live.tail(), End: o.live.end}, changed
}

// text returns the whole output in at most limit bytes, for the model.
func (o *output) text(limit int) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.put(o.plain.rest())
	return o.kept.text(limit)
}

// end is the newest bytes of a text.
type end struct {
	size int // how many
	data []byte
}

func (e *end) put(text []byte) {
	if len(text) > e.size {
		e.data, text = e.data[:0], text[len(text)-e.size:]
	}
	if e.data = append(e.data, text...); len(e.data) > 2*e.size {
		e.data = append(e.data[:0], e.data[len(e.data)-e.size:]...)
	}
}

// last returns the newest n bytes without a part of a character, n being at most the size.
func (e *end) last(n int) string {
	if len(e.data) <= n {
		return string(e.data)
	}
	data := e.data[len(e.data)-n:]
	for len(data) > 0 && !utf8.RuneStart(data[0]) {
		data = data[1:]
	}
	return string(data)
}

// live is an output as clients see it while it grows: nothing is taken back, so that a line that the command draws anew is a new
// line.
type live struct {
	newest   end
	end      int64 // bytes so far
	inLine   bool  // the newest line has characters
	returned bool  // after a carriage return
}

func (l *live) put(text []byte) {
	l.newest.size = tools.MaxShownOutput
	lines := l.lines(text)
	l.newest.put(lines)
	l.end += int64(len(lines))
}

// lines returns the lines of a part.
func (l *live) lines(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 && bytes.IndexByte(text, '\b') < 0 && !l.returned {
		if len(text) > 0 {
			l.inLine = text[len(text)-1] != '\n'
		}
		return text
	}
	lines := make([]byte, 0, len(text))
	for _, b := range text {
		switch b {
		case '\r':
			l.returned = true
			continue
		case '\b':
			continue
		case '\n':
		default:
			if l.returned && l.inLine {
				lines = append(lines, '\n')
			}
		}
		lines = append(lines, b)
		l.returned, l.inLine = false, b != '\n'
	}
	return lines
}

// tail returns the newest lines.
func (l *live) tail() string { return lastLines(l.newest.last(tools.MaxShownOutput), l.end) }

// lastLines returns the end of a text of size bytes from the start of a line on, unless that is less than half of it.
func lastLines(tail string, size int64) string {
	if int64(len(tail)) == size {
		return tail
	}
	if at := strings.IndexByte(tail, '\n'); at >= 0 && at < len(tail)/2 {
		return tail[at+1:]
	}
	return tail
}

// kept is an output as the model sees it: the head and the tail, with the last state of lines that the command draws anew.
type kept struct {
	line     []byte // the newest one, at most maxRedrawn bytes
	returned bool   // after a carriage return: the next character draws the line anew

	head  []byte // at most tools.MaxResult
	tail  end    // of what follows the head
	bytes int64
	lines int64 // line ends
}

// maxRedrawn is the maximum size of a line that can be drawn anew, in bytes.
const maxRedrawn = 8 << 10

func (k *kept) put(text []byte) {
	for len(text) > 0 {
		n := bytes.IndexAny(text, "\n\r\b")
		if n != 0 {
			if n < 0 {
				n = len(text)
			}
			k.draw(text[:n])
			text = text[n:]
			continue
		}
		switch text[0] {
		case '\r':
			k.returned = true
		case '\b':
			_, size := utf8.DecodeLastRune(k.line)
			k.line = k.line[:len(k.line)-size]
		case '\n':
			k.line = append(k.line, '\n')
			k.flush()
		}
		text = text[1:]
	}
}

// draw adds characters to the line.
func (k *kept) draw(part []byte) {
	if k.returned {
		k.line, k.returned = k.line[:0], false
	}
	if k.line = append(k.line, part...); len(k.line) > maxRedrawn {
		k.flush()
	}
}

// flush keeps the line as it is.
func (k *kept) flush() {
	line := k.line
	k.bytes += int64(len(line))
	k.lines += int64(bytes.Count(line, []byte("\n")))
	if room := tools.MaxResult - len(k.head); room > 0 {
		n := min(room, len(line))
		k.head, line = append(k.head, line[:n]...), line[n:]
	}
	k.tail.size = tools.MaxResult
	k.tail.put(line)
	k.line, k.returned = k.line[:0], false
}

// text returns the output in at most limit bytes. It ends the last line.
func (k *kept) text(limit int) string {
	k.flush()
	if strings.TrimSpace(string(k.head)) == "" && k.bytes == int64(len(k.head)) {
		return "(no output)"
	}
	if k.bytes <= int64(limit) {
		return string(k.head) + k.tail.last(k.tail.size)
	}
	const note = 80 // bytes of the line
	room := max(limit-note, 0)
	head := wholeLines(clip.Bytes(string(k.head), room/3))
	tail := lastLines(k.ending(room-len(head)), k.bytes)
	omitted := fmt.Sprintf("%d bytes", k.bytes-int64(len(head)+len(tail)))
	if lines := k.lines - int64(strings.Count(head, "\n")+strings.Count(tail, "\n")); lines > 0 {
		omitted = fmt.Sprintf("%d lines, %s", lines, omitted)
	}
	return fmt.Sprintf("%s\n[%s omitted]\n%s", strings.TrimSuffix(head, "\n"), omitted, tail)
}

// ending returns the last n bytes.
func (k *kept) ending(n int) string {
	if int64(len(k.head)+len(k.tail.data)) == k.bytes {
		all := end{size: n}
		all.put(k.head)
		all.put(k.tail.data)
		return all.last(n)
	}
	return k.tail.last(n)
}

// wholeLines returns a head without the line that it ends in, unless that is more than half of it.
func wholeLines(head string) string {
	if at := strings.LastIndexByte(head, '\n'); at >= len(head)/2 {
		return head[:at+1]
	}
	return head
}
