package join

// share is the rows of the left table of one group: order[lo:hi].
type share struct {
	group  int32
	lo, hi int
}

// shares sorts the rows of the left table by group.
func (w *matching) shares(m int) (all []share) {
	w.order = make([]int32, m)
	if w.left.Groups == nil {
		for j := range w.order {
			w.order[j] = int32(j)
		}
		return []share{{0, 0, m}}
	}
	last := len(w.starts) - 1 // stands for all groups that are not there
	place := func(g int32) int {
		if g < 0 || int(g) > last {
			return last
		}
		return int(g)
	}
	ends := make([]int, last+1)
	for _, g := range w.left.Groups {
		ends[place(g)]++
	}
	at := 0
	for g, n := range ends {
		if n > 0 {
			all = append(all, share{int32(g), at, at + n})
		}
		ends[g], at = at, at+n
	}
	for j, g := range w.left.Groups {
		w.order[ends[place(g)]] = int32(j)
		ends[place(g)]++
	}
	return all
}

// sharesTogether is about how many pairs a goroutine scores before it takes others.
const sharesTogether = 1 << 13

// siftedTogether is how many queries a goroutine compares with the rows of a group, whose products it prepares for them.
const siftedTogether = 256

// divided cuts shares of many rows of the left table, so that several goroutines can scan them.
func divided(shares []share) (all []share) {
	for _, s := range shares {
		for ; s.hi-s.lo >= 2*siftedTogether; s.lo += siftedTogether {
			all = append(all, share{s.group, s.lo, s.lo + siftedTogether})
		}
		all = append(all, s)
	}
	return all
}

// together returns where consecutive shares that a goroutine takes at once end.
func together(r *Right, shares []share) (ends []int) {
	pairs := 0
	for i, s := range shares {
		if pairs += r.size(s.group) * (s.hi - s.lo); pairs >= sharesTogether || i+1 == len(shares) {
			ends, pairs = append(ends, i+1), 0
		}
	}
	return ends
}
