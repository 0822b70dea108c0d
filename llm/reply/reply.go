package reply

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"unicode/utf8"
)

// Decoder takes the events of one reply in the words of a wire format.
type Decoder interface {
	// take takes an event, a JSON object. name is the one that stood beside it, mostly empty. done says that nothing
	// follows.
	take(name string, object []byte) (done bool, err error)

	// takePlain takes an event that is nothing but a piece of text, which most are, and does with it what take does,
	// in less time. taken is false for any other event: take must get it.
	takePlain(data []byte) (taken bool, err error)
}

// readBuffer is the size in bytes of the buffer of a body. Adjacent text in it is told as one event.
const readBuffer = 16 << 10

// Read reads a reply into a by way of d. Most are event streams; some servers send a whole completion, or an
// error, as JSON. It returns nil once the reply is complete: what goes wrong after that costs nothing. All that it has read
// is told before it reads on, and before it returns.
func Read(body io.Reader, d Decoder, a *Answer) error {
	r := &replyReader{in: bufio.NewReaderSize(heldReader{body, a}, readBuffer), decoder: d, answer: a}
	a.held.reading = true
	err := r.read()
	a.held.reading = false
	a.tellHeld()
	if a.finished {
		return nil
	}
	return err
}

type replyReader struct {
	in      *bufio.Reader
	decoder Decoder
	answer  *Answer
}

// errDone ends the reading of a reply whose end was seen.
var errDone = errors.New("the reply is complete")

func (r *replyReader) read() error {
	start, err := r.peek()
	if err != nil {
		return noEnd(err)
	}
	switch start {
	case '{', '[':
		err = r.readJSON()
	case '<':
		err = r.readPage()
	default:
		err = r.readEvents()
	}
	if err == errDone {
		return nil
	}
	return err
}

// noEnd turns the end of a body into the error that says that the reply is not complete.
func noEnd(err error) error {
	if err == io.EOF {
		return ErrNoEnd
	}
	return err
}

// peek returns the first character that is no blank, without reading it.
func (r *replyReader) peek() (byte, error) {
	for {
		next, err := r.in.Peek(1)
		if err != nil {
			return 0, err
		}
		switch next[0] {
		case ' ', '\t', '\r', '\n', 0xEF, 0xBB, 0xBF: // blanks, and the bytes of a byte order mark
			r.in.Discard(1)
		default:
			return next[0], nil
		}
	}
}

// readJSON reads a body that is one JSON value, or one after another.
func (r *replyReader) readJSON() error {
	values := json.NewDecoder(io.LimitReader(r.in, maxEvent))
	for {
		var value json.RawMessage
		err := values.Decode(&value)
		if err == io.EOF && len(r.answer.blocks) == 0 {
			return &Failure{Status: http.StatusOK, Message: "the provider sent JSON without a reply"}
		}
		if err == io.EOF {
			return r.endMarker()
		}
		if err != nil {
			return broken(err)
		}
		if err := r.value("", value); err != nil {
			return err
		}
	}
}

// readPage reads an HTML page, which some proxy sends with status 200.
func (r *replyReader) readPage() error {
	page, err := io.ReadAll(io.LimitReader(r.in, maxErrorBody))
	if err != nil {
		return err
	}
	message := "the provider sent a web page instead of a reply"
	if title := titleOf(page); title != "" {
		message += ": " + title
	}
	return &Failure{Status: http.StatusOK, Message: message}
}

// readEvents reads an event stream.
func (r *replyReader) readEvents() error {
	events := newSSEReader(r.in)
	any := false
	for {
		name, data, err := events.next()
		if err == io.EOF && !any && events.stray != "" {
			return Failure{Message: events.stray}.inStream()
		}
		if err != nil {
			return noEnd(err)
		}
		any = true
		if err := r.event(name, bytes.TrimSpace(data)); err != nil {
			return err
		}
	}
}

// event takes the data of an event: JSON, the end marker, or an error in plain words.
func (r *replyReader) event(name string, data []byte) error {
	if taken, err := r.decoder.takePlain(data); taken {
		return err
	}
	switch {
	case len(data) == 0:
		return nil
	case bytes.HasPrefix(data, []byte("[DONE]")):
		return r.endMarker()
	case json.Valid(data):
		return r.value(name, data)
	case data[0] == '{' || data[0] == '[':
		return broken(errors.New("invalid JSON"))
	}
	return Failure{Message: string(data)}.inStream()
}

// value takes a JSON value: an event, a list of events, or an error.
func (r *replyReader) value(name string, value json.RawMessage) error {
	if !utf8.Valid(value) { // valid JSON otherwise: what is kept of it as it came must be valid text
		value = bytes.ToValidUTF8(value, []byte("\uFFFD"))
	}
	switch value[0] {
	case '{':
		done, err := r.decoder.take(name, value)
		if err == nil && done {
			r.answer.Finish()
			err = errDone
		}
		return err
	case '[':
		var elements []json.RawMessage
		json.Unmarshal(value, &elements) // a valid list
		for _, element := range elements {
			if err := r.value(name, element); err != nil {
				return err
			}
		}
	case '"':
		if failure, ok := readWireFailure(value); ok {
			return failure.inStream()
		}
	}
	return nil
}

// endMarker takes the end of a reply that gave no reason for it. Without content it is not believed.
func (r *replyReader) endMarker() error {
	if !r.answer.finished && len(r.answer.blocks) == 0 {
		return ErrNoEnd
	}
	r.answer.Finish()
	return errDone
}

// broken returns the error for a stream that is damaged.
func broken(err error) error { return fmt.Errorf("%w: %w", ErrUnreadable, err) }
