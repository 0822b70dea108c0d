package stability

// sent is the conversation, with a run before it, in the layout of the last committed request.
type sent struct {
	entries []Entry        // of the layout
	index   map[string]int // in entries, by key
	place   []int          // index in entries of each of them, in order
}

// follow makes s the conversation of the next committed layout, of which the first kept entries are those of the last one.
func (s *sent) follow(entries []Entry, kept int) {
	if s.index == nil || kept < len(s.entries) {
		*s, kept = sent{index: make(map[string]int)}, 0
	}
	for i := kept; i < len(entries); i++ {
		if entries[i].inStream() {
			s.index[entries[i].Key] = i
			s.place = append(s.place, i)
		}
	}
	s.entries = entries
}

// newest returns the entry with a key, nil for none.
func (s *sent) newest(key string) *Entry {
	if i, ok := s.index[key]; ok {
		return &s.entries[i]
	}
	return nil
}

// begins returns how many leading items of a conversation have the same keys as those of s.
func (s *sent) begins(items []Item) int {
	n := 0
	for i := range items {
		if !items[i].inStream() {
			continue
		}
		if n == len(s.place) || s.entries[s.place[n]].Key != items[i].Key {
			break
		}
		n++
	}
	return n
}

// has reports whether one of the first n of s has a key.
func (s *sent) has(key string, n int) bool {
	i, ok := s.index[key]
	return ok && n > 0 && i <= s.place[n-1]
}
