package stability

// placedMove is a move with the index of its message in the conversation.
type placedMove struct {
	*Move
	at int
}

// noteMoves notes the moves of the item of the conversation with index at.
func (d *draft) noteMoves(at int, moves []Move) {
	for i := range moves {
		if d.moves == nil {
			d.moves = make(map[string][]placedMove)
		}
		d.moves[moves[i].Key] = append(d.moves[moves[i].Key], placedMove{&moves[i], at})
	}
}

// follow returns the version of a file that a reader knows who has read old up to its entry with the index last and the
// conversation after that; "" for one that is not known exactly. moved is false if the conversation has no changes of it, or if
// messages cannot tell of the entry.
func (d *draft) follow(last int) (version string, moved bool) {
	e := &d.old[last]
	version = e.version
	if version == "" {
		return "", false
	}
	for _, m := range d.moves[e.Key] {
		switch {
		case m.at < d.sentMessages[last+1]:
			continue
		case m.From != version || version == "":
			return "", true
		}
		version, moved = m.To, true
	}
	return version, moved
}

// known returns the revision of the file n that a reader knows who has read old up to its entry with the index last and the
// conversation after that, and whether that is its current content. The revision is "" if it is not known exactly.
func (d *draft) known(n *need, last int) (rev string, current bool) {
	e := &d.old[last]
	version, moved := d.follow(last)
	switch {
	case moved && version == "":
		return "", false
	case moved && version == n.Version:
		return n.Rev, true
	case !moved, version == e.version:
		return e.Rev, shown(e, n.Item)
	case version == e.led.version:
		return e.led.rev, e.led.shows(n.Item)
	}
	return "", false
}

// leadOn notes in kept, the first entries of the log, to which text messages lead the newest entry of each file that needs no
// other.
func (d *draft) leadOn(kept []Entry) {
	for i := range d.files {
		n := &d.files[i]
		if _, missing := d.file(n, len(kept)); missing {
			continue
		}
		last := d.newest(n, len(kept))
		e := &kept[last]
		e.led = led{}
		if version, moved := d.follow(last); moved {
			e.led = led{n.Rev, version, n.chg}
		}
	}
}

// lastMove returns the index of the newest message with a change of a file, -1 for none.
func (d *draft) lastMove(key string) int {
	moves := d.moves[key]
	if len(moves) == 0 {
		return -1
	}
	return moves[len(moves)-1].at
}
