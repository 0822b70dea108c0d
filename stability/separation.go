package stability

// Separation is a short reply before an entry, so that the entry does not become one message with those before it: providers
// and frontends join successive messages of the user, and a model carries out all that one message contains.
type Separation int

// The separations.
const (
	NotSeparated Separation = iota
	Acknowledged            // after a summary, and before one that follows anything but a reply
	Unanswered              // between a prompt without a reply and the next one
)

// side is what an entry is in the exchange between user and assistant.
type side int

const (
	sideContext side = iota // content that belongs to no message
	sideReply
	sidePrompt
	sideResults // of tools, without a reply yet
	sideSummary // content that is a message of its own
	sideRun     // a run: its items are a message of their own together, but for a summary among them
)

func sideOf(it *Item) side {
	switch {
	case it.Alone:
		return sideSummary
	case it.Run:
		return sideRun
	case it.Kind != Message:
		return sideContext
	case it.User:
		return sidePrompt
	case it.Open:
		return sideResults
	}
	return sideReply
}

// separate sets the separations of entries[from:], whose block boundaries are set. The system part has none.
func separate(entries []Entry, from int) {
	last, begun := sideReply, leadEnd(entries) // nothing before the first entry has to be separated from it
	for i := begun; i < len(entries); i++ {
		e := &entries[i]
		if i >= from {
			e.Before = e.side.after(last)
		}
		open := last == sidePrompt || last == sideResults
		if e.side != sideContext || !open {
			last = e.side
		}
	}
}

// after returns how an entry of side s is separated from an entry of side last.
func (s side) after(last side) Separation {
	open := last == sidePrompt || last == sideResults
	switch {
	case s == sideReply, s == sideResults, last == sideReply, s == sideRun && last == sideRun:
		return NotSeparated
	case open && s != sideContext && s != sideSummary:
		return Unanswered
	case s == sideSummary, last == sideSummary, last == sideRun, s == sideRun:
		return Acknowledged
	}
	return NotSeparated
}
