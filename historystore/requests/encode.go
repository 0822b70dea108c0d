// Package requests encodes kept requests. Most requests of a session continue the previous request, so a request is encoded as
// its difference to a whole request, which is all that is needed to decode it.
package requests

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"sync"

	"strata/history"
)

// The forms of a body, its first byte. A difference needs the whole request that it was made to.
const (
	formWhole = 1 + iota
	formDifference
	compressed = 0x80 // a flag: the rest is a DEFLATE stream
)

// The forms of a hash.
const (
	hashOfKey = iota // the rest of the key of a message: its id
	hashHex          // 32 bytes
	hashText
)

const messagePrefix = "msg:"

// minCompressed is the minimum size of a compressed body, in bytes: compression of smaller bodies saves little.
const minCompressed = 256

// Encode returns the body of a request: its difference to base, or the whole one if base is nil. It does not contain the id of
// the call and the time.
func Encode(r, base *history.Request) []byte {
	e := encoder{strings: make(map[string]int)}
	form := byte(formDifference)
	if base == nil {
		form, base = formWhole, new(history.Request)
	}
	e.items(r.Items, base.Items)
	e.omissions(r.Omitted, base.Omitted)
	var head encoder
	for _, n := range []int{int(r.Seq), r.Tokens, r.Overhead, r.Expected} {
		head.number(n)
	}
	for _, text := range []string{r.Message, r.Layout, r.Cut} {
		head.text(text)
	}
	head.number(len(e.table))
	for _, text := range e.table {
		head.text(text)
	}
	return pack(form, append(head.out, e.out...))
}

// pack returns a body of a form, compressed if that makes it shorter.
func pack(form byte, plain []byte) []byte {
	if len(plain) >= minCompressed {
		w := deflaters.Get().(*flate.Writer)
		defer deflaters.Put(w)
		var out bytes.Buffer
		out.Grow(len(plain))
		out.WriteByte(form | compressed)
		w.Reset(&out)
		_, err := w.Write(plain)
		if err == nil && w.Close() == nil && out.Len() <= len(plain) {
			return out.Bytes()
		}
	}
	return append([]byte{form}, plain...)
}

var deflaters = sync.Pool{New: func() any {
	w, _ := flate.NewWriter(nil, flate.BestSpeed) // this level is valid
	return w
}}

// encoder appends values to out. Texts that repeat are numbers of texts in the table.
type encoder struct {
	out     []byte
	table   []string
	strings map[string]int // 1 + index in table
}

func (e *encoder) number(n int) { e.out = binary.AppendUvarint(e.out, uint64(max(n, 0))) }

func (e *encoder) text(s string) {
	e.number(len(s))
	e.out = append(e.out, s...)
}

// named returns the number of a text; 0 is the empty one.
func (e *encoder) named(s string) int {
	if s == "" {
		return 0
	}
	n := e.strings[s]
	if n == 0 {
		e.table = append(e.table, s)
		n = len(e.table)
		e.strings[s] = n
	}
	return n
}

// shown is the part of an item that does not change while it is repeated.
type shown struct {
	key, kind, hash string
	tokens          int
}

func shownBy(it *history.RequestItem) shown { return shown{it.Key, it.Kind, it.Hash, it.Tokens} }

func (e *encoder) items(now, base []history.RequestItem) {
	parts := runs(now, base, shownBy)
	was := make([]int, 0, len(now)) // N in base
	e.number(len(parts))
	for _, p := range parts {
		e.run(p)
		for i := range p.n {
			if !p.added {
				was = append(was, base[p.from+i].N)
				continue
			}
			it := &now[p.from+i]
			e.text(it.Key)
			e.number(e.named(it.Kind))
			e.hash(it)
			e.number(it.Tokens)
			was = append(was, 0)
		}
	}
	number := func(n int) int { return n }
	column(e, len(now), func(i int) int { return now[i].N - was[i] }, number)
	column(e, len(now), func(i int) string { return now[i].Tier }, e.named)
	column(e, len(now), func(i int) int { return flagsOf(&now[i]) }, number)
	column(e, len(now), func(i int) string { return now[i].Reason }, e.named)
	column(e, len(now), func(i int) string { return now[i].Moved }, e.named)
}

// run encodes the position of successive elements: an index in base, or, if they are added, directly after the run.
func (e *encoder) run(p run) {
	if p.added {
		e.number(p.n<<1 | 1)
		return
	}
	e.number(p.n << 1)
	e.number(p.from)
}

func (e *encoder) hash(it *history.RequestItem) {
	raw, err := hex.DecodeString(it.Hash)
	switch id, isMessage := strings.CutPrefix(it.Key, messagePrefix); {
	case isMessage && id == it.Hash:
		e.number(hashOfKey)
	case err == nil && len(raw) == 32 && hex.EncodeToString(raw) == it.Hash:
		e.number(hashHex)
		e.out = append(e.out, raw...)
	default:
		e.number(hashText)
		e.text(it.Hash)
	}
}

// The flags of an item.
const (
	flagMark = 1 << iota
	flagDead
)

func flagsOf(it *history.RequestItem) (flags int) {
	if it.Mark {
		flags |= flagMark
	}
	if it.Dead {
		flags |= flagDead
	}
	return flags
}

// column encodes n values, equal ones that follow each other as one.
func column[V comparable](e *encoder, n int, value func(i int) V, number func(V) int) {
	for i := 0; i < n; {
		v, from := value(i), i
		for i++; i < n && value(i) == v; i++ {
		}
		e.number(i - from)
		e.out = binary.AppendVarint(e.out, int64(number(v)))
	}
}

func (e *encoder) omissions(now, base []history.RequestOmission) {
	parts := runs(now, base, func(o *history.RequestOmission) history.RequestOmission { return *o })
	e.number(len(parts))
	for _, p := range parts {
		e.run(p)
		for i := 0; p.added && i < p.n; i++ {
			o := &now[p.from+i]
			e.text(o.Key)
			e.number(o.Count)
			e.number(o.Tokens)
			e.number(e.named(o.Reason))
			e.out = binary.AppendVarint(e.out, int64(o.Score))
		}
	}
}

// run is some successive elements of a list: n of the base from an index on, or n added ones of the list itself.
type run struct {
	from, n int
	added   bool
}

// runs returns the runs of a list, in order. Elements are equal if their identities are.
func runs[E any, K comparable](now, base []E, identity func(*E) K) (all []run) {
	same := 0
	for same < len(now) && same < len(base) && identity(&now[same]) == identity(&base[same]) {
		same++
	}
	if same > 0 {
		all = append(all, run{0, same, false})
	}
	if same == len(now) {
		return all
	}
	places := make(map[K]int, len(base)-same)
	for i := same; i < len(base); i++ {
		places[identity(&base[i])] = i
	}
	for i := same; i < len(now); i++ {
		from, found := places[identity(&now[i])]
		if !found {
			from = i
		}
		if last := len(all) - 1; last >= 0 && all[last].added != found && all[last].from+all[last].n == from {
			all[last].n++
			continue
		}
		all = append(all, run{from, 1, !found})
	}
	return all
}
