package tournaments

// mostAnswers is the number of the latest duels whose winners are remembered.
const mostAnswers = 1 << 16

// answers remembers the winners of the latest duels, so that a contradicting result is
// noticed after the tournament has counted the first.
type answers struct {
	last uint64 // the greatest duel ID seen
	bits []byte // two for each duel: whether the winner is known, and whether a won
}

// slot returns the position of the two bits of a duel, whose ID is at most last.
func slot(id uint64) (at int, shift uint) { return int(id % mostAnswers / 4), uint(id % 4 * 2) }

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

func (a *answers) remember(id uint64, won bool) {
	a.reach(id)
	at, shift := slot(id)
	a.bits[at] |= 1 << shift
	if won {
		a.bits[at] |= 2 << shift
	}
}

// get returns the winner of a duel, if it is known.
func (a *answers) get(id uint64) (won, known bool) {
	if id > a.last || id+mostAnswers <= a.last {
		return false, false
	}
	at, shift := slot(id)
	if at >= len(a.bits) {
		return false, false
	}
	bits := a.bits[at] >> shift
	return bits&2 != 0, bits&1 != 0
}
