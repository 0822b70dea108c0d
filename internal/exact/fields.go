package exact

import (
	"reflect"
	"strings"
	"sync"
)

// The values of the tag need.
const (
	needValue   = "value"   // present and not null
	needContent = "content" // present and not empty; for strings, lists and maps
)

// fields are the fields of a struct that JSON can set, those of embedded structs included.
type fields struct {
	all    []field
	byName map[string]int // index into all
}

type field struct {
	name  string
	index []int
	need  string
}

var known sync.Map // of *fields, by reflect.Type

// fieldsOf returns the fields of a struct type. A field without a name in its json tag has its own name.
func fieldsOf(t reflect.Type) *fields {
	if f, ok := known.Load(t); ok {
		return f.(*fields)
	}
	f := &fields{byName: make(map[string]int)}
	f.add(t, nil)
	kept, _ := known.LoadOrStore(t, f)
	return kept.(*fields)
}

// add appends the fields of a struct that is embedded at an index. A field of an outer struct hides one of the same name.
func (f *fields) add(t reflect.Type, at []int) {
	var embedded []reflect.StructField
	for i := range t.NumField() {
		s := t.Field(i)
		name, _, _ := strings.Cut(s.Tag.Get("json"), ",")
		switch {
		case s.Anonymous && name == "" && s.Type.Kind() == reflect.Struct:
			embedded = append(embedded, s)
			continue
		case !s.IsExported() || name == "-":
			continue
		case name == "":
			name = s.Name
		}
		if _, taken := f.byName[name]; taken {
			continue
		}
		f.byName[name] = len(f.all)
		f.all = append(f.all, field{name: name, index: concat(at, s.Index), need: s.Tag.Get("need")})
	}
	for _, s := range embedded {
		f.add(s.Type, concat(at, s.Index))
	}
}

func concat(at, index []int) []int { return append(append([]int{}, at...), index...) }
