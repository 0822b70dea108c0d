package clients

import (
	"context"
	"slices"
	"testing"
)

// editor is a client by its name.
type editor struct {
	Client
	name string
	can  []Capability
}

func (e *editor) Can(c Capability) bool                                      { return slices.Contains(e.can, c) }
func (e *editor) ReadTextFile(context.Context, Read, uint64) (string, error) { return e.name, nil }
func (e *editor) WriteTextFile(context.Context, Write, uint64) error         { return nil }
func (e *editor) RequestPermission(context.Context, Permission, uint64) (Answer, error) {
	return Answer{}, nil
}

func TestAllWithACapability(t *testing.T) {
	var c Choice
	first, second, third := &editor{name: "first", can: []Capability{Permissions}}, &editor{name: "second"}, &editor{name: "third", can: []Capability{Permissions}}
	if all := c.All(Permissions); len(all) != 0 {
		t.Errorf("got %v", all)
	}
	for _, e := range []*editor{first, second, third} {
		c.Add(e)
	}
	c.Prompted(third)
	if all := c.All(Permissions); !slices.Equal(all, []Client{third, first}) {
		t.Errorf("got %v", all)
	}
	c.Remove(third)
	if all := c.All(Permissions); !slices.Equal(all, []Client{first}) {
		t.Errorf("got %v", all)
	}
}

func TestChoice(t *testing.T) {
	reader, other := &editor{name: "reader", can: []Capability{ReadFiles}}, &editor{name: "other", can: []Capability{ReadFiles, WriteFiles, Terminals}}
	page := &editor{name: "page"}
	for name, test := range map[string]struct {
		steps func(c *Choice)
		read  *editor // serves ReadFiles; nil for none
		write *editor // serves WriteFiles
	}{
		"nobody":                              {func(*Choice) {}, nil, nil},
		"no turn":                             {func(c *Choice) { c.Add(page); c.Add(reader); c.Add(other) }, reader, other},
		"the prompting one":                   {func(c *Choice) { c.Add(reader); c.Add(other); c.Prompted(other) }, other, other},
		"the prompting one cannot":            {func(c *Choice) { c.Add(reader); c.Prompted(page) }, nil, nil},
		"the prompting one can in part":       {func(c *Choice) { c.Add(other); c.Prompted(reader) }, reader, nil},
		"joined last":                         {func(c *Choice) { c.Prompted(reader); c.Prompted(other) }, other, other},
		"joined by one that cannot":           {func(c *Choice) { c.Prompted(reader); c.Prompted(page) }, nil, nil},
		"joined again":                        {func(c *Choice) { c.Prompted(reader); c.Prompted(other); c.Prompted(reader) }, reader, nil},
		"gone":                                {func(c *Choice) { c.Add(page); c.Add(other); c.Prompted(reader); c.Remove(reader) }, other, other},
		"gone, nobody can":                    {func(c *Choice) { c.Add(page); c.Prompted(reader); c.Remove(reader) }, nil, nil},
		"gone, an earlier one of the turn":    {func(c *Choice) { c.Add(other); c.Prompted(reader); c.Prompted(page); c.Remove(page) }, reader, other},
		"gone and back":                       {func(c *Choice) { c.Prompted(reader); c.Remove(reader); c.Add(reader) }, reader, nil},
		"another one is gone":                 {func(c *Choice) { c.Add(other); c.Prompted(reader); c.Remove(other); c.Remove(page) }, reader, nil},
		"a prompt without a connection":       {func(c *Choice) { c.Add(page); c.Prompted(reader); c.Prompted(nil) }, reader, nil},
		"the turn has ended":                  {func(c *Choice) { c.Add(reader); c.Prompted(page); c.TurnEnded() }, reader, nil},
		"subscribed twice, gone once":         {func(c *Choice) { c.Add(reader); c.Add(reader); c.Remove(reader) }, nil, nil},
		"subscribed after its prompt":         {func(c *Choice) { c.Prompted(reader); c.Add(reader); c.Remove(reader) }, nil, nil},
		"the next turn is of somebody else":   {func(c *Choice) { c.Prompted(reader); c.TurnEnded(); c.Prompted(other) }, other, other},
		"everybody is gone in a running turn": {func(c *Choice) { c.Prompted(reader); c.Add(other); c.Remove(reader); c.Remove(other) }, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			var c Choice
			test.steps(&c)
			serving, _ := c.Serving().(*editor)
			if want := map[string]*editor{
				"the prompting one": other, "the prompting one cannot": page, "the prompting one can in part": reader, "joined last": other,
				"joined by one that cannot": page, "joined again": reader, "another one is gone": reader, "the next turn is of somebody else": other,
			}[name]; serving != want {
				t.Errorf("serving: %v, want %v", serving, want)
			}
			for capability, want := range map[Capability]*editor{ReadFiles: test.read, WriteFiles: test.write} {
				got, _ := c.For(capability).(*editor)
				if got != want {
					t.Errorf("capability %d: got %v, want %v", capability, got, want)
				}
			}
		})
	}
}
