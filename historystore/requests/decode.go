package requests

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"

	"strata/history"
)

// The limits of a request. One that exceeds them cannot be decoded, and is not kept.
const (
	maxBody  = 32 << 20 // bytes, not compressed
	maxItems = 1 << 17
)

// ErrBody means that the body of a request is damaged.
var ErrBody = errors.New("the kept request is damaged")

// IsDifference reports whether a body is the difference to a whole request.
func IsDifference(body []byte) bool { return len(body) > 0 && body[0]&^compressed == formDifference }

// Decode returns the request of a body, without the id of its call and the time. base is the whole request to which a difference
// was made, nil for a whole one. The error is ErrBody.
func Decode(body []byte, base *history.Request) (history.Request, error) {
	r, err := decode(body, base)
	if err != nil {
		return history.Request{}, fmt.Errorf("%w: %w", ErrBody, err)
	}
	return r, nil
}

func decode(body []byte, base *history.Request) (history.Request, error) {
	if base == nil {
		if IsDifference(body) {
			return history.Request{}, errors.New("a difference without its whole request")
		}
		base = new(history.Request)
	}
	plain, err := unpack(body)
	if err != nil {
		return history.Request{}, err
	}
	d := decoder{rest: plain}
	r := history.Request{Seq: int64(d.number()), Tokens: d.number(), Overhead: d.number(), Expected: d.number()}
	r.Message, r.Layout, r.Cut = d.text(), d.text(), d.text()
	for n := d.count(len(d.rest)); n > 0; n-- {
		d.table = append(d.table, d.text())
	}
	r.Items, r.Omitted = d.items(base.Items), d.omissions(base.Omitted)
	if d.err == nil && len(d.rest) > 0 {
		d.err = errors.New("there is more than a request")
	}
	return r, d.err
}

// unpack returns the decompressed content of a body, without the byte for its form.
func unpack(body []byte) ([]byte, error) {
	if len(body) == 0 || body[0]&^compressed != formWhole && body[0]&^compressed != formDifference {
		return nil, errors.New("unknown form")
	}
	if body[0]&compressed == 0 {
		return body[1:], nil
	}
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(body[1:])), maxBody+1))
	if err == nil && len(plain) > maxBody {
		err = fmt.Errorf("more than %d bytes", maxBody)
	}
	return plain, err
}

// decoder reads values. After an error it returns zeros.
type decoder struct {
	rest  []byte
	table []string
	err   error
}

func (d *decoder) fail(why string) {
	if d.err == nil {
		d.err = errors.New(why)
	}
	d.rest = nil
}

func (d *decoder) number() int {
	n, size := binary.Uvarint(d.rest)
	if size <= 0 || n > 1<<62 {
		d.fail("invalid number")
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

func (d *decoder) signed() int {
	n, size := binary.Varint(d.rest)
	if size <= 0 {
		d.fail("invalid number")
		return 0
	}
	d.rest = d.rest[size:]
	return int(n)
}

// count reads a number of elements.
func (d *decoder) count(limit int) int {
	n := d.number()
	if n > limit {
		d.fail("invalid number of elements")
		return 0
	}
	return n
}

func (d *decoder) bytes(n int) []byte {
	if n > len(d.rest) {
		d.fail("it ends too early")
		return nil
	}
	some := d.rest[:n]
	d.rest = d.rest[n:]
	return some
}

func (d *decoder) text() string { return string(d.bytes(d.number())) }

func (d *decoder) named(n int) string {
	if n < 0 || n > len(d.table) {
		d.fail("unknown text")
		return ""
	}
	if n == 0 {
		return ""
	}
	return d.table[n-1]
}

func (d *decoder) items(base []history.RequestItem) []history.RequestItem {
	all := elements(d, base, func() history.RequestItem {
		it := history.RequestItem{Key: d.text(), Kind: d.named(d.number())}
		it.Hash = d.hash(it.Key)
		it.Tokens = d.number()
		return it
	})
	d.column(len(all), func(i, v int) { all[i].N += v })
	d.column(len(all), func(i, v int) { all[i].Tier = d.named(v) })
	d.column(len(all), func(i, v int) { all[i].Mark, all[i].Dead = v&flagMark != 0, v&flagDead != 0 })
	d.column(len(all), func(i, v int) { all[i].Reason = d.named(v) })
	d.column(len(all), func(i, v int) { all[i].Moved = d.named(v) })
	return all
}

func (d *decoder) hash(key string) string {
	switch d.number() {
	case hashOfKey:
		return strings.TrimPrefix(key, messagePrefix)
	case hashHex:
		return hex.EncodeToString(d.bytes(32))
	case hashText:
		return d.text()
	}
	d.fail("unknown form of a hash")
	return ""
}

// column reads a value for each of n elements.
func (d *decoder) column(n int, set func(i, value int)) {
	for i := 0; i < n && d.err == nil; {
		end := i + d.count(n-i)
		v := d.signed()
		if end == i {
			d.fail("a run without elements")
		}
		for ; i < end && d.err == nil; i++ {
			set(i, v)
		}
	}
}

func (d *decoder) omissions(base []history.RequestOmission) []history.RequestOmission {
	return elements(d, base, func() history.RequestOmission {
		return history.RequestOmission{Key: d.text(), Count: d.number(), Tokens: d.number(), Reason: d.named(d.number()), Score: d.signed()}
	})
}

// elements reads a list: runs of elements of base, and others, each with a call of next.
func elements[E any](d *decoder, base []E, next func() E) (all []E) {
	for parts := d.count(maxItems); parts > 0 && d.err == nil; parts-- {
		n := d.number()
		added := n&1 == 1
		if n >>= 1; n > maxItems-len(all) {
			d.fail("too many elements")
			return nil
		}
		if !added {
			from := d.number()
			if from > len(base) || n > len(base)-from {
				d.fail("elements that the whole request does not have")
				return nil
			}
			all = append(all, base[from:from+n]...)
			continue
		}
		for ; n > 0 && d.err == nil; n-- {
			all = append(all, next())
		}
	}
	return all
}
