package duel

import (
	"errors"
	"fmt"
	"slices"
)

// describe names the champion as leader, or of two arms the one that more speaks for. Before the end, its guarantee is that of the
// moment: the least delta at which the tournament would end now, if that is at most
// minSure.
func (s *anytime) describe(st *State) {
	const minSure = .5
	st.Active, st.Leader = slices.Clone(s.active), s.champion
	n, w := make([]int64, s.k), make([]int64, s.k)
	for c, row := range s.rows {
		for i, cell := range row {
			n[c], w[c] = n[c]+cell.n, w[c]+cell.w
			n[i], w[i] = n[i]+cell.n, w[i]+cell.n-cell.w
		}
	}
	for _, a := range s.active {
		st.Standings = append(st.Standings, Standing{Arm: a, Duels: n[a], Wins: w[a], Rate: rate(w[a], n[a])})
	}
	least := s.threshold
	for _, i := range s.open {
		least = min(least, s.worth(i, s.champion))
	}
	if len(s.active) == 2 && len(s.open) == 1 { // either may be named
		if x, against := s.open[0], s.worth(s.champion, s.open[0]); against > least {
			st.Leader, least = x, min(s.threshold, against)
		}
	}
	if least*minSure >= 1 {
		st.Guarantee = &Guarantee{Epsilon: s.epsilon, Failure: 1 / least}
		if least == s.threshold {
			st.Guarantee.Failure = s.delta
		}
	}
	switch {
	case len(s.active) == 1:
		st.End = OneLeft
	case s.finished():
		st.End = Accurate
	case s.told >= s.horizon:
		st.End = HorizonReached
	}
}

// save leaves out what follows from the counts. Rows are those of the arms that were
// champions, ascending.
func (s *anytime) save() progress {
	p := progress{
		"told": {s.told}, "champion": {int64(s.champion)}, "reigns": {s.reigns}, "next": {int64(s.next)}, "heard": {s.heard}, "end": {s.end},
		"active": numbers(s.active), "open": numbers(s.open), "former": numbers(s.former), "field": slices.Clone(s.field), "n": {}, "w": {},
	}
	for _, row := range s.rows {
		for _, cell := range row {
			p["n"], p["w"] = append(p["n"], cell.n), append(p["w"], cell.w)
		}
	}
	return p
}

func (s *anytime) load(p progress, drawn []pair) (err error) {
	var told, champion, next int64
	for name, to := range map[string]*int64{
		"told": &told, "champion": &champion, "next": &next, "reigns": &s.reigns, "heard": &s.heard, "end": &s.end,
	} {
		if *to, err = p.scalar(name); err != nil {
			return err
		}
	}
	if s.active, err = p.ascending("active", s.k); err != nil {
		return err
	}
	if s.open, err = p.arms("open", s.k); err != nil {
		return err
	}
	if s.former, err = p.arms("former", s.k); err != nil {
		return err
	}
	if champion < 0 || champion >= int64(s.k) {
		return fmt.Errorf("champion %d of %d arms", champion, s.k)
	}
	s.champion = int(champion)
	if err := s.loadRows(p, told); err != nil {
		return err
	}
	if err := s.tally.load(told, len(drawn)); err != nil {
		return err
	}
	if next < 0 || next > int64(len(s.open)) || s.heard < 0 || s.heard > told || s.reigns < 1 || s.reigns > told+1 {
		return fmt.Errorf("challenger %d of %d is next in reign %d, after %d of %d duels", next, len(s.open), s.reigns, s.heard, told)
	}
	s.next = int(next)
	if s.sweep && !s.ended() && (s.end <= told || s.end < s.drawn || s.end > told+int64(s.k)) {
		return fmt.Errorf("a sweep ends at duel %d, %d told, %d drawn", s.end, told, s.drawn)
	}
	if len(drawn) > max(s.k, maxAhead) {
		return fmt.Errorf("%d duels of %d arms in flight", len(drawn), s.k)
	}
	for _, d := range drawn {
		if d.a == d.b || s.rows[d.a] == nil {
			return fmt.Errorf("duel of %d and %d, of which the first was never champion", d.a, d.b)
		}
	}
	for a := range s.known {
		s.forget(a)
	}
	return nil
}

// loadRows reads the counts and checks the roles of arms against them.
func (s *anytime) loadRows(p progress, told int64) error {
	field, err := p.vector("field", s.k)
	if err != nil {
		return err
	}
	champions := 0
	s.rows = make([][]cell, s.k)
	for a, f := range field {
		if f < 0 || f >= int64(s.k) {
			return fmt.Errorf("champion %d had %d challengers of %d arms", a, f, s.k)
		}
		if f > 0 {
			s.rows[a] = make([]cell, s.k)
			champions++
		}
	}
	copy(s.field, field)
	n, w, err := p.counts("n", "w", champions*s.k, told)
	if err != nil {
		return err
	}
	var all int64
	at := 0
	for a, row := range s.rows {
		for i := range row {
			row[i] = cell{n[at], w[at]}
			all += n[at]
			if i == a && n[at] != 0 {
				return fmt.Errorf("arm %d met itself", a)
			}
			at++
		}
	}
	if all != told {
		return fmt.Errorf("%d duels counted, %d told", all, told)
	}
	if s.field[s.champion] > 0 { // one who beat the last champion begins no reign
		champions--
	} else if len(s.open) > 0 {
		return fmt.Errorf("champion %d met nobody", s.champion)
	}
	if slices.Contains(s.former, s.champion) || len(s.former) != champions {
		return fmt.Errorf("champion %d, formerly %v, of %d more champions", s.champion, s.former, champions)
	}
	for _, a := range s.former {
		if s.field[a] == 0 {
			return fmt.Errorf("champion %d met nobody", a)
		}
	}
	if _, ok := slices.BinarySearch(s.active, s.champion); !ok || slices.Contains(s.open, s.champion) || !slices.IsSorted(s.open) {
		return fmt.Errorf("champion %d of active arms %v, against %v", s.champion, s.active, s.open)
	}
	for _, a := range s.open {
		if _, ok := slices.BinarySearch(s.active, a); !ok {
			return errors.New("a challenger is out")
		}
	}
	return nil
}
