package history

// Page returns the sequence numbers of the first messages whose contents have at most limit bytes in total, at least one,
// and the heads after them.
func Page(heads []Head, limit int) (seqs []int64, rest []Head) {
	size := 0
	for i, h := range heads {
		if size += h.Bytes; i > 0 && size > limit {
			return seqs, heads[i:]
		}
		seqs = append(seqs, h.Seq)
	}
	return seqs, nil
}

// NewestPage returns the sequence numbers of the newest messages whose contents have at most limit bytes in total, at least
// one. older is the sequence number of the oldest of them if there are older messages, otherwise 0.
func NewestPage(heads []Head, limit int) (seqs []int64, older int64) {
	size, from := 0, len(heads)
	for from > 0 && (from == len(heads) || size+heads[from-1].Bytes <= limit) {
		from--
		size += heads[from].Bytes
	}
	for _, h := range heads[from:] {
		seqs = append(seqs, h.Seq)
	}
	if from > 0 {
		older = heads[from].Seq
	}
	return seqs, older
}
