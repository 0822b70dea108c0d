package toolbox

import (
	"fmt"
	"slices"

	"strata/internal/clip"
	"strata/session/tools"
)

// The bounds of a declaration.
const (
	MaxDeclared    = tools.MaxTools - 16  // tools; the rest of a set is for the built-in ones
	MaxDescription = tools.MaxDescription // bytes
	MaxDeclaration = 512 << 10            // bytes of all names, descriptions and schemas
)

// Declared is a tool that a frontend offers.
type Declared struct {
	tools.Definition
	Kind     tools.Kind
	ReadOnly bool // it changes nothing
}

// Declaration is the tools that a frontend declares together. It is immutable.
type Declaration struct {
	tools []tools.Tool // without Run
}

// NewDeclaration checks the tools of a declaration. The error begins with the place of the fault, such as "[2].kind".
func NewDeclaration(declared []Declared) (*Declaration, error) {
	if n := len(declared); n > MaxDeclared {
		return nil, fmt.Errorf(": %d tools exceeds the limit of %d", n, MaxDeclared)
	}
	d := &Declaration{}
	size := 0
	for i := range declared {
		one, err := declared[i].tool()
		if err != nil {
			return nil, fmt.Errorf("[%d]%w", i, err)
		}
		if d.has(one.Name) {
			return nil, fmt.Errorf("[%d].name: %s is declared twice", i, one.Name)
		}
		d.tools = append(d.tools, one)
		size += one.Size()
	}
	if size > MaxDeclaration {
		return nil, fmt.Errorf(": %d bytes exceeds the limit of %d", size, MaxDeclaration)
	}
	return d, nil
}

func (d *Declaration) has(name string) bool {
	return d != nil && slices.ContainsFunc(d.tools, func(t tools.Tool) bool { return t.Name == name })
}

// tool returns the tool. The error begins with the member that is wrong.
func (d *Declared) tool() (tools.Tool, error) {
	fail := func(format string, args ...any) (tools.Tool, error) { return tools.Tool{}, fmt.Errorf(format, args...) }
	switch {
	case !tools.ValidName(d.Name):
		return fail(".name: %q must have 1 to 64 letters, digits, _ or -", clip.Name(d.Name))
	case tools.IsBuiltIn(d.Name):
		return fail(".name: %s is a built-in tool", d.Name)
	case len(d.Description) > MaxDescription:
		return fail(".description: %d bytes exceeds the limit of %d", len(d.Description), MaxDescription)
	case !d.Kind.Valid():
		return fail(".kind: %q is unknown; the kinds are %s", clip.Name(string(d.Kind)), tools.KindNames())
	}
	definition := d.Definition
	var err error
	if definition.Schema, err = tools.SortedSchema(d.Schema); err != nil {
		return fail(".inputSchema%w", err)
	}
	return tools.Tool{Definition: definition, Kind: d.Kind, ReadOnly: d.ReadOnly}, nil
}
