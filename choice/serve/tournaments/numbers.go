package tournaments

import "slices"

// numbers are the duel ids that clients see. They are those of the tournament until the first undo.
// An undo takes back duels, whose ids the tournament gives to other ones; clients see ids that were
// never used for those, and for the duels whose judgments were undone, so that a late result, or a
// repeated one, never counts for another duel than the one it is of.
type numbers struct {
	// Spans are ascending in Shown; a later one replaces earlier ones for its duels. The last is of all
	// duels that are not drawn yet.
	Spans []span `json:"spans,omitempty"`
}

// span gives Count duels from First on, 0 for all, the ids from Shown on.
type span struct {
	First uint64 `json:"first"`
	Count uint64 `json:"count,omitempty"`
	Shown uint64 `json:"shown"`
}

func (s *span) has(id uint64) bool { return id >= s.First && (s.Count == 0 || id < s.First+s.Count) }

// shown returns the id by which clients know a duel of the tournament.
func (n *numbers) shown(id uint64) uint64 {
	for _, s := range slices.Backward(n.Spans) {
		if s.has(id) {
			return s.Shown + (id - s.First)
		}
	}
	return id
}

// duel returns the tournament's id of a duel by the one that clients know; ok is false if the duel
// was taken back under that id. Ids that were never used have a duel that was never drawn.
func (n *numbers) duel(shown uint64) (id uint64, ok bool) {
	id = shown
	at, found := slices.BinarySearchFunc(n.Spans, shown, func(s span, shown uint64) int {
		switch {
		case s.Shown < shown:
			return -1
		case s.Shown > shown:
			return 1
		}
		return 0
	})
	if !found {
		at--
	}
	if at >= 0 {
		id = n.Spans[at].First + (shown - n.Spans[at].Shown)
	}
	return id, n.shown(id) == shown
}

// undo takes back the duels after drawn, of which there were before drawn ones, and gives new ids to
// those undone, which are at most drawn, and to the next one drawn.
func (n *numbers) undo(undone []uint64, drawn, before uint64) {
	next := n.shown(before) + 1
	if last := len(n.Spans) - 1; last >= 0 && n.Spans[last].First > before { // none of it was drawn
		next = n.Spans[last].Shown
		n.Spans = n.Spans[:last]
	}
	for _, id := range undone {
		if id <= drawn {
			n.Spans = append(n.Spans, span{id, 1, next})
			next++
		}
	}
	n.Spans = append(n.Spans, span{First: drawn + 1, Shown: next})
}
