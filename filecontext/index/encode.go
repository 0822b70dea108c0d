package index

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"

	"strata/filecontext/outline"
)

// outlineVersion is the version of the stored outlines. It must be increased when the outline package returns another
// outline for the same text, or when the encoding changes: outlines of other versions are parsed again.
const outlineVersion = 1

// errEncoding reports bytes that are damaged or were stored by another version.
var errEncoding = errors.New("not a stored outline of this version")

// castagnoli returns the table of CRC-32C, which is made at the first call.
func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// kinds are the kinds of symbols in the encoding, which stores their positions.
var kinds = []string{"class", "const", "enum", "func", "heading", "impl", "interface", "macro", "method", "module", "namespace",
	"package", "property", "record", "struct", "trait", "type", "union", "var"}

const otherKind = 255 // is followed by the kind as text

// seal returns the stored form of an encoded outline, or of the reason for which a file has none.
func seal(version uint64, reason Reason, encoded string) []byte {
	body := binary.AppendUvarint(nil, version)
	body = appendText(body, string(reason))
	body = append(body, encoded...)
	sum := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli()))
	return append(sum, body...)
}

// unseal returns the encoded outline, or the reason for which the file has none.
func unseal(version uint64, stored []byte) (reason Reason, encoded string, err error) {
	if len(stored) < 4 || binary.LittleEndian.Uint32(stored) != crc32.Checksum(stored[4:], castagnoli()) {
		return "", "", errEncoding
	}
	d := decoder{rest: string(stored[4:])}
	if d.number() != version {
		return "", "", errEncoding
	}
	reason = Reason(d.text())
	if reason == "" && !d.bad {
		encoded = d.rest
		_, err := decode(encoded)
		return "", encoded, err
	}
	if d.bad || d.rest != "" {
		return "", "", errEncoding
	}
	return reason, "", nil
}

// encode returns a compact form of an outline. The symbols come first, so that a search reads no more than them.
func encode(o *outline.Outline) string {
	data := appendText(nil, o.Language)
	data = appendNumber(data, len(o.Symbols))
	for i := range o.Symbols {
		data = appendSymbol(data, &o.Symbols[i])
	}
	partial := 0
	if o.Partial {
		partial = 1
	}
	data = appendNumber(data, partial)
	data = appendNumber(data, len(o.Imports))
	for _, imp := range o.Imports {
		data = appendNumber(appendText(data, imp.Path), imp.Line)
		data = appendTexts(data, imp.Names)
	}
	return string(appendTexts(data, o.Uses))
}

func appendSymbol(data []byte, s *outline.Symbol) []byte {
	if at := slices.Index(kinds, s.Kind); at >= 0 {
		data = append(data, byte(at))
	} else {
		data = appendText(append(data, otherKind), s.Kind)
	}
	data = appendText(appendText(data, s.Name), s.Signature)
	data = appendNumber(data, s.Line)
	data = appendNumber(data, s.EndLine)
	return appendNumber(data, s.Depth)
}

func appendNumber(data []byte, n int) []byte { return binary.AppendUvarint(data, uint64(max(n, 0))) }

func appendText(data []byte, text string) []byte {
	return append(appendNumber(data, len(text)), text...)
}

func appendTexts(data []byte, texts []string) []byte {
	data = appendNumber(data, len(texts))
	for _, text := range texts {
		data = appendText(data, text)
	}
	return data
}

// decode returns the outline that encode encoded. Its strings share the memory of encoded.
func decode(encoded string) (*outline.Outline, error) {
	d := decoder{rest: encoded}
	o := &outline.Outline{Language: d.text()}
	if n := d.count(minSymbol); n > 0 {
		o.Symbols = make([]outline.Symbol, n)
		for i := range o.Symbols {
			o.Symbols[i] = d.symbol()
		}
	}
	o.Partial = d.number() != 0
	if n := d.count(minImport); n > 0 {
		o.Imports = make([]outline.Import, n)
		for i := range o.Imports {
			o.Imports[i] = outline.Import{Path: d.text(), Line: d.int(), Names: d.texts()}
		}
	}
	o.Uses = d.texts()
	if d.bad || d.rest != "" {
		return nil, errEncoding
	}
	return o, nil
}

// decoder reads an encoded outline. After the first fault bad is set and all values are zero.
type decoder struct {
	rest string
	bad  bool
}

func (d *decoder) fail() { d.rest, d.bad = "", true }

func (d *decoder) number() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		if d.rest == "" {
			break
		}
		c := d.rest[0]
		d.rest = d.rest[1:]
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	d.fail()
	return 0
}

// int returns a number that fits into 31 bits.
func (d *decoder) int() int {
	n := d.number()
	if n > 1<<31-1 {
		d.fail()
		return 0
	}
	return int(n)
}

// The minimum sizes of values in bytes. A number that is larger than what follows is damaged and allocates nothing.
const (
	minByte   = 1
	minText   = 1
	minSymbol = 6
	minImport = 3
)

// count returns the number of values that follow, each of which has at least size bytes.
func (d *decoder) count(size int) int {
	n := d.number()
	if n > uint64(len(d.rest)/size) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) text() string {
	n := d.count(minByte)
	text := d.rest[:n]
	d.rest = d.rest[n:]
	return text
}

func (d *decoder) texts() (all []string) {
	if n := d.count(minText); n > 0 {
		all = make([]string, n)
		for i := range all {
			all[i] = d.text()
		}
	}
	return all
}

func (d *decoder) symbol() outline.Symbol {
	s := outline.Symbol{Kind: d.kind()}
	s.Name = d.text()
	s.Signature = d.text()
	s.Line, s.EndLine, s.Depth = d.int(), d.int(), d.int()
	return s
}

func (d *decoder) kind() string {
	if d.rest == "" {
		d.fail()
		return ""
	}
	at := int(d.rest[0])
	d.rest = d.rest[1:]
	switch {
	case at == otherKind:
		return d.text()
	case at >= len(kinds):
		d.fail()
		return ""
	}
	return kinds[at]
}
