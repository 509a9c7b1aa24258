package duel

import (
	"slices"
	"time"
)

// pendingDuel is a duel in flight: drawn, its result not yet told to the strategy. A is the
// arm that began it, whichever is shown first, and AWon is A's win.
type pendingDuel struct {
	ID       uint64 `json:"id"`
	A        int    `json:"a"`
	B        int    `json:"b"`
	Leased   bool   `json:"leased,omitempty"`  // has been issued
	Expires  int64  `json:"expires,omitempty"` // end of the lease in Unix ns; 0 is never
	Answered bool   `json:"answered,omitempty"`
	AWon     bool   `json:"a_won,omitempty"`
	Tie      bool   `json:"tie,omitempty"` // AWon is the coin's
	Judge    string `json:"judge,omitempty"`
	// SkippedBy are the latest judges who skipped the duel. It is issued to them again when
	// duel Again is drawn.
	SkippedBy []string `json:"skipped_by,omitempty"`
	Again     uint64   `json:"again,omitempty"`
}

// withdrawal records that the duels From to To were withdrawn when Arm was eliminated, or
// when the tournament ended without that, if Arm is -1.
type withdrawal struct {
	From     uint64   `json:"from"`
	To       uint64   `json:"to"`
	Arm      int      `json:"arm"`
	At       int64    `json:"at"`
	Answered []uint64 `json:"answered,omitempty"` // those that had a result
}

// past is an expiry long ago.
const past = 1

// held reports whether the duel's lease is running.
func (e *pendingDuel) held(now time.Time) bool {
	return e.Leased && (e.Expires == 0 || now.UnixNano() < e.Expires)
}

func (w *withdrawal) holds(id uint64) bool { return w.From <= id && id <= w.To }

// withdrawal returns the withdrawal of a duel, nil if there was none.
func (t *Tournament) withdrawal(id uint64) *withdrawal {
	for i := range t.withdrawn {
		if t.withdrawn[i].holds(id) {
			return &t.withdrawn[i]
		}
	}
	return nil
}

// entry returns a duel in the queue, nil if it is settled or withdrawn.
func (t *Tournament) entry(id uint64) *pendingDuel {
	i, ok := slices.BinarySearchFunc(t.queue, id, func(e pendingDuel, id uint64) int {
		switch {
		case e.ID < id:
			return -1
		case e.ID > id:
			return 1
		}
		return 0
	})
	if !ok {
		return nil
	}
	return &t.queue[i]
}

// withdraw empties the queue.
func (t *Tournament) withdraw(arm int) {
	w := withdrawal{From: t.queue[0].ID, To: t.issued, Arm: arm, At: t.taken}
	for _, e := range t.queue {
		if e.Answered {
			w.Answered = append(w.Answered, e.ID)
		}
	}
	t.withdrawn = append(t.withdrawn, w)
	t.queue = nil
}
