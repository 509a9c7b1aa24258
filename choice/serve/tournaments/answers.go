package tournaments

import "thresher/choice/duel"

// maxAnswers is the number of the latest duels whose winners are remembered.
const maxAnswers = 1 << 16

// answers remembers the winners of the latest duels, so that a contradicting result is
// noticed after the tournament has counted the first.
type answers struct {
	last uint64 // the greatest duel ID seen
	bits []byte // two for each duel: outcome
}

// outcome is what is remembered of a duel.
type outcome byte

const (
	forgotten outcome = iota
	lost              // by a
	tied
	won
)

func outcomeOf(r duel.Result) outcome {
	switch {
	case r.Tie:
		return tied
	case r.AWon:
		return won
	}
	return lost
}

func (o outcome) String() string {
	return [...]string{"unknown", "a_won = false", "tie = true", "a_won = true"}[o]
}

// slot returns the position of the two bits of a duel, whose ID is at most last.
func slot(id uint64) (at int, shift uint) { return int(id % maxAnswers / 4), uint(id % 4 * 2) }

// reach extends the answers to all duels up to id.
func (a *answers) reach(id uint64) {
	for a.last < id {
		a.last++
		at, shift := slot(a.last)
		for at >= len(a.bits) {
			a.bits = append(a.bits, 0)
		}
		a.bits[at] &^= 3 << shift
	}
}

func (a *answers) remember(id uint64, is outcome) {
	a.reach(id)
	at, shift := slot(id)
	a.bits[at] |= byte(is) << shift
}

// undo forgets the winners of the undone duels, and of all after drawn.
func (a *answers) undo(undone []uint64, drawn uint64) {
	forget := func(id uint64) {
		if at, shift := slot(id); at < len(a.bits) {
			a.bits[at] &^= 3 << shift
		}
	}
	for id := a.last; id > drawn && id+maxAnswers > a.last; id-- {
		forget(id) // and an earlier one, which had the same slot
	}
	a.last = min(a.last, drawn)
	for _, id := range undone {
		forget(id)
	}
}

// get returns the outcome of a duel, if it is known.
func (a *answers) get(id uint64) outcome {
	if id > a.last || id+maxAnswers <= a.last {
		return forgotten
	}
	at, shift := slot(id)
	if at >= len(a.bits) {
		return forgotten
	}
	return outcome(a.bits[at] >> shift & 3)
}
