package tournaments

// mostAnswers is for how many duels, the last ones, it is known who won them.
const mostAnswers = 1 << 16

// answers remember who won the last duels, so that another result for one of them is
// noticed after the tournament has taken the first into its counts.
type answers struct {
	last uint64 // no duel after it was seen
	bits []byte // two a duel: whether it is known, and whether a won
}

// slot finds the two bits of a duel, whose ID is at most last.
func slot(id uint64) (at int, shift uint) { return int(id % mostAnswers / 4), uint(id % 4 * 2) }

// reach makes room for all duels up to id.
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

func (a *answers) put(id uint64, won bool) {
	a.reach(id)
	at, shift := slot(id)
	a.bits[at] |= 1 << shift
	if won {
		a.bits[at] |= 2 << shift
	}
}

// get says who won a duel, if that is known.
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
