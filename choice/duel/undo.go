package duel

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// ErrNothingToUndo: no judgment is left that can be undone.
var ErrNothingToUndo = errors.New("no judgment is left that can be undone")

// maxUndo bounds the judgments that KeepUndo keeps.
const maxUndo = 1000

// history is what Undo needs: an earlier state and the calls since then, which lead to the
// present one. It is part of the saved state.
type history struct {
	Most  int        `json:"most"`
	Base  []byte     `json:"base"` // a saved tournament without history
	Steps []undoStep `json:"steps,omitempty"`

	judged int // steps that are Judged
}

// undoStep is a call that changed the tournament.
type undoStep struct {
	At      int64    `json:"at,omitempty"` // of NextFor, by the clock, in Unix ns
	Next    int      `json:"next,omitempty"`
	Judge   string   `json:"judge,omitempty"` // of NextFor and Skip
	Recall  bool     `json:"recall,omitempty"`
	Skip    []uint64 `json:"skip,omitempty"`
	Free    []uint64 `json:"free,omitempty"` // the leases of these duels ended
	Results []Result `json:"results,omitempty"`
	Judged  bool     `json:"judged,omitempty"` // Results are of different arms, not coins alone
}

// KeepUndo makes the last reports of results undoable from now on, at least most of them, at
// most maxUndo; 0 forgets them. The saved state grows by the state of before and by the
// calls since. Saved tournaments keep the number.
func (t *Tournament) KeepUndo(most int) error {
	if most < 0 || most > maxUndo {
		return fmt.Errorf("duel: %d judgments to undo are not in [0, %d]", most, maxUndo)
	}
	if most == 0 {
		t.history = nil
		return nil
	}
	if t.history != nil {
		t.history.Most = most
		return nil
	}
	base, err := t.MarshalBinary()
	if err == nil {
		t.history = &history{Most: most, Base: base}
	}
	return err
}

// note records a call; h may be nil.
func (h *history) note(s undoStep) {
	if h == nil {
		return
	}
	h.Steps = append(h.Steps, s)
	if s.Judged {
		h.judged++
	}
}

// trim forgets the oldest steps: once twice as many judgments as wanted are kept, or there are
// many calls besides. h may be nil.
func (h *history) trim() error {
	const besides = 1 << 12
	if h == nil || h.judged < 2*h.Most && len(h.Steps) < 4*h.Most+besides {
		return nil
	}
	drop := len(h.Steps) // all, unless judgments are dropped
	if h.judged >= h.Most {
		for kept := 0; kept < h.Most; {
			drop--
			if h.Steps[drop].Judged {
				kept++
			}
		}
	}
	t, err := h.replay(h.Steps[:drop])
	if err != nil {
		return err
	}
	if h.Base, err = t.MarshalBinary(); err != nil {
		return err
	}
	h.Steps = slices.Clone(h.Steps[drop:])
	h.count()
	return nil
}

// count sets the number of judgments.
func (h *history) count() {
	h.judged = 0
	for _, s := range h.Steps {
		if s.Judged {
			h.judged++
		}
	}
}

// replay returns the tournament after some steps.
func (h *history) replay(steps []undoStep) (*Tournament, error) {
	var now time.Time
	t, err := Restore(h.Base, func() time.Time { return now })
	for i := 0; i < len(steps) && err == nil; i++ {
		s := &steps[i]
		now = time.Unix(0, s.At)
		switch {
		case s.Next > 0:
			_, err = t.NextFor(s.Judge, s.Next)
		case s.Recall:
			t.Recall()
		case len(s.Skip) > 0:
			err = t.Skip(s.Judge, s.Skip...)
		case len(s.Free) > 0:
			t.free(s.Free)
		default:
			_, err = t.Report(s.Results...)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("duel: the judgments before cannot be repeated: %w", err)
	}
	return t, nil
}

// free ends the leases of duels without a result.
func (t *Tournament) free(ids []uint64) {
	for _, id := range ids {
		if e := t.entry(id); e != nil && !e.Answered {
			e.Expires = past
		}
	}
	t.history.note(undoStep{Free: ids})
}

// Undoable returns the results that Undo would take back, nil if there are none.
func (t *Tournament) Undoable() []Result {
	if i := t.history.lastJudged(); i >= 0 {
		return slices.Clone(t.history.Steps[i].Results)
	}
	return nil
}

// lastJudged returns the index of the last step that is Judged, -1 if there is none; h may be nil.
func (h *history) lastJudged() int {
	if h == nil || h.judged == 0 {
		return -1
	}
	last := len(h.Steps) - 1
	for !h.Steps[last].Judged {
		last--
	}
	return last
}

// Undo takes back the last report in which a judgment counted, also one that eliminated an arm
// or named the winner, and returns its results. The tournament is as it was before the
// report, with the clock of now: duels issued since then are unknown again, and their IDs
// may return with other arms. The duels that were reported are issued again first. The error
// is ErrNothingToUndo unless KeepUndo was called and judgments are left.
//
// Guarantees hold if only slips are undone; whoever undoes a judgment because of what it did to
// the tournament has changed the preferences.
func (t *Tournament) Undo() ([]Result, error) {
	h, last := t.history, t.history.lastJudged()
	if last < 0 {
		return nil, ErrNothingToUndo
	}
	results := h.Steps[last].Results
	back, err := h.replay(h.Steps[:last])
	if err != nil {
		return nil, err
	}
	h.Steps = h.Steps[:last]
	h.count()
	back.clock, back.history, back.undone = t.clock, h, t.undone+1
	*t = *back
	ids := make([]uint64, len(results))
	for i, r := range results {
		ids[i] = r.Duel
	}
	t.free(ids)
	return results, nil
}

// check rejects a history that does not lead to the saved tournament s.
func (h *history) check(s *saved) error {
	if h.Most < 1 || h.Most > maxUndo {
		return fmt.Errorf("%d judgments to undo are not in [1, %d]", h.Most, maxUndo)
	}
	t, err := h.replay(h.Steps)
	if err != nil {
		return err
	}
	if t.history != nil || t.issued != s.Issued || t.taken != s.Taken || len(t.queue) != len(s.Queue) {
		return errors.New("the judgments before do not lead to it")
	}
	h.count()
	return nil
}
