package duel

// Wins returns a new K x K matrix of how often arm i won against arm j among the duels taken.
// It is nil for algorithms that keep no such counts: all but Anytime, DoubleThompson, Rank
// and Copeland.
func (t *Tournament) Wins() [][]int64 {
	if s, ok := t.strategy.(interface{ counts() [][]int64 }); ok {
		return s.counts()
	}
	return nil
}

func square(k int) [][]int64 {
	all := make([][]int64, k)
	for i := range all {
		all[i] = make([]int64, k)
	}
	return all
}

func (l *evidence) counts() [][]int64 {
	all := square(l.k)
	for i := range l.k {
		for j := range l.k {
			if i != j {
				_, all[i][j] = l.record(i, j)
			}
		}
	}
	return all
}

func (s *anytime) counts() [][]int64 {
	all := square(s.k)
	for c, row := range s.rows {
		for i, x := range row {
			all[c][i] += x.w
			all[i][c] += x.n - x.w
		}
	}
	return all
}

// counts leaves out duels of an arm against itself.
func (s *thompson) counts() [][]int64 {
	all := square(s.k)
	for i := range s.k {
		copy(all[i], s.wins[i*s.k:(i+1)*s.k])
		all[i][i] = 0
	}
	return all
}
