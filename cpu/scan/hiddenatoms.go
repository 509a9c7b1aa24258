package scan

import (
	"math/bits"
	"slices"

	"thresher/cpu/arms"
	"thresher/cpu/topk"
)

// nextHidden returns the hidden atoms from NextPanel to panel hi-1, and passes over them.
func (q *scanning) nextHidden(hi int) []uint32 {
	left := q.Hidden[q.hiddenBefore:]
	n := 0
	for n < len(left) && left[n] < uint32(hi*arms.PanelAtoms) {
		n++
	}
	q.hiddenBefore += n
	return left[:n]
}

// removeHidden removes hidden atoms from a list, both of [lo, hi), in place.
func removeHidden(w *scratch, list topk.Entries, hidden []uint32, lo, hi int) topk.Entries {
	if len(hidden) == 0 || len(list.IDs) == 0 {
		return list
	}
	if len(hidden) == 1 {
		if at, found := slices.BinarySearch(list.IDs, hidden[0]); found {
			copy(list.IDs[at:], list.IDs[at+1:])
			copy(list.Bounds[at:], list.Bounds[at+1:])
			list.Truncate(len(list.IDs) - 1)
		}
		return list
	}
	w.hidden = topk.Grow(w.hidden, (hi-lo+63)/64)
	clear(w.hidden)
	for _, h := range hidden {
		h -= uint32(lo)
		w.hidden[h/64] |= 1 << (h % 64)
	}
	kept := 0
	for k, i := range list.IDs {
		list.IDs[kept], list.Bounds[kept] = i, list.Bounds[k]
		i -= uint32(lo)
		kept += int(^w.hidden[i/64] >> (i % 64) & 1)
	}
	list.Truncate(kept)
	return list
}

// countChunk adds the atoms of panels lo to hi-1 to the query's counts: to seen those that looks
// see, to codesRead those of its panels: from the panel of the goal's From on, those in which the
// filter allows an atom. scanned lists the panels of the chunk that were scanned, hidden the hidden
// atoms in it. Of a gathering only the atoms of its scanned panels count.
func (q *scanning) countChunk(lo, hi int, scanned, hidden []uint32) {
	from := max(lo, q.Goal.From/arms.PanelAtoms)
	if from >= hi {
		return
	}
	end := min(hi*arms.PanelAtoms, q.C.N)
	q.seen -= q.CountShowable(hidden)
	if g := q.gathering; g != nil {
		n := g.first[scanned[len(scanned)-1]+1] - g.first[scanned[0]]
		q.seen, q.codesRead = q.seen+n, q.codesRead+n
		return
	}
	if q.allowedBits == nil {
		q.seen += end - max(from*arms.PanelAtoms, q.Goal.From)
		q.codesRead += end - from*arms.PanelAtoms
		return
	}
	at, _ := slices.BinarySearch(scanned, uint32(from))
	for _, p := range scanned[at:] {
		in := q.allowedBits[p]
		if in == 0 {
			continue
		}
		q.codesRead += min(arms.PanelAtoms, q.C.N-int(p)*arms.PanelAtoms)
		if before := q.Goal.From - int(p)*arms.PanelAtoms; before > 0 {
			in &= ^uint64(0) << before
		}
		q.seen += bits.OnesCount64(in)
	}
}
