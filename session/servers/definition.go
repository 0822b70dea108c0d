package servers

import "slices"

// MaxNamed is the maximum number of servers in the user's configuration, and of those that an editor names for a session.
const MaxNamed = 32

// Equal reports whether two definitions run the same server.
func (d *Definition) Equal(other *Definition) bool {
	return d.Name == other.Name && d.Command == other.Command && d.URL == other.URL && d.Trusted == other.Trusted && d.Fault == other.Fault &&
		slices.Equal(d.Args, other.Args) && slices.Equal(d.Env, other.Env) && slices.Equal(d.Headers, other.Headers)
}

// equal reports whether two places are the same for a server.
func (p *Place) equal(other *Place) bool {
	return p.Folder == other.Folder && slices.Equal(p.Roots, other.Roots) && slices.Equal(p.Environment, other.Environment)
}
