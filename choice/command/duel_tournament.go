package command

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"thresher/choice/duel"
	"thresher/internal/cli"
)

// tournament is a running tournament with its file.
type tournament struct {
	*duel.Tournament
	file     *duelFile
	names    []string
	log      duelLog
	drawCost int64     // preferences sampled for a draw
	behind   bool      // the file does not match this run; the next save writes a snapshot
	quiet    bool      // calls are not logged, and every save is a snapshot
	texts    *armTexts // shown in place of names; nil if there are none
	judgedBy string    // the judge of this run, "" if none was named
	json     bool      // --json
	created  bool      // by this run
}

// ready prepares t after its Tournament was set.
func (t *tournament) ready() {
	c := t.Config()
	t.names, t.drawCost, t.behind = c.Arms, 1, true
	if k := int64(len(c.Arms)); c.Algorithm == duel.DoubleThompson {
		t.drawCost = k * k
	}
}

// save makes everything since the last save durable: as a line of the log, if the file
// matches this run and the log is not too long, otherwise as a snapshot.
func (t *tournament) save() error {
	if t.behind || t.quiet || t.log.unlogged || !t.file.appends() {
		return t.saveState()
	}
	line, err := t.log.line()
	if err != nil || line == nil {
		return err
	}
	if t.log.full(len(line)) {
		return t.saveState()
	}
	if err := t.file.append(line); err != nil {
		t.behind = true // part of a line may have been written
		return err
	}
	t.log.wrote(line)
	return nil
}

// saveState replaces the file by a snapshot.
func (t *tournament) saveState() error {
	encode := t.MarshalBinary
	if filepath.Ext(t.file.path) == ".json" {
		encode = t.MarshalJSON
	}
	b, err := encode()
	if err != nil {
		return err
	}
	if err := t.file.save(b); err != nil {
		return err
	}
	t.log.beginAfter(b)
	t.behind = false
	return nil
}

// close replaces the log by a snapshot, which duel.Restore reads, and releases the file.
func (t *tournament) close() (err error) {
	if !t.behind && t.log.lines > 0 {
		err = t.saveState()
	}
	return errors.Join(err, t.file.close())
}

// nextDuels issues up to count duels of two different arms, after saving earlier results. Duels
// of an arm against itself are decided by the coin.
func (t *tournament) nextDuels(count int) ([]duel.Duel, error) {
	for {
		duels, err := t.NextFor(t.judgedBy, count)
		if err != nil {
			if failed := t.save(); failed != nil {
				return nil, failed
			}
			return nil, err
		}
		ask, err := t.toss(duels)
		if err != nil {
			return nil, err
		}
		if len(ask) > 0 || len(duels) == 0 {
			return ask, t.save()
		}
	}
}

// toss decides the duels of an arm against itself by the coin and returns the others,
// without those withdrawn because the coin eliminated an arm.
func (t *tournament) toss(duels []duel.Duel) ([]duel.Duel, error) {
	var ask []duel.Duel
	for _, d := range duels {
		if d.A != d.B {
			ask = append(ask, d)
		} else if _, err := t.Report(t.Coin(d)); err != nil && !errors.Is(err, duel.ErrWithdrawn) {
			return nil, err // withdrawn: by the coin before it
		}
	}
	return slices.DeleteFunc(ask, func(d duel.Duel) bool {
		_, open := t.Duel(d.ID)
		return !open
	}), nil
}

// describeTournament prints the winner, its guarantee, and the record of all arms.
func (a *app) describeTournament(t *tournament) error {
	if t.json {
		return t.writeOutcome(a.Out)
	}
	s := t.State()
	if s.Ranking != nil || s.Copeland != nil {
		return a.describePairs(t, &s)
	}
	w := cli.NewTable(a.Out)
	what := "leader so far"
	if s.Done {
		what = "winner"
	}
	leader := t.names[s.Leader]
	if t.leaderless(&s) {
		leader = "not known yet"
	}
	w.Row(what, leader)
	w.Row("duels", s.Duels)
	if s.Done {
		w.Row("ended", s.End)
		w.Row("guarantee", promise(&s))
	} else {
		if s.Guarantee != nil {
			w.Row("so far", sure(s.Guarantee))
		}
		if x := s.Standoff; x != nil {
			w.Row("hard to tell", fmt.Sprintf("%s from %s: %.3f, in [%.3f, %.3f] with 95%%, in %d duels", inSentence(t.names[x.A]), inSentence(t.names[x.B]), x.Rate, x.Low, x.High, x.Duels))
		}
		w.Row("kept in", t.file.path)
	}
	if s.Ties > 0 {
		w.Row("ties", fmt.Sprintf("%d of %d duels, settled by a fair coin", s.Ties, s.Duels))
	}
	if s.Undone > 0 {
		w.Row("undone", fmt.Sprintf("%d judgments", s.Undone))
	}
	if s.Lean != nil && !t.quiet { // a jury's is known
		w.Row("lean", leaning(s.Lean))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out)
	if err := a.listArms(t, &s); err != nil {
		return err
	}
	return a.listJudges(t.names, t.Judges())
}

// leaderless reports whether the leader is merely the arm that the next duels are against.
func (t *tournament) leaderless(s *duel.State) bool {
	return !s.Done && s.Guarantee == nil && t.Config().Algorithm == duel.Anytime
}

// listArms prints the record of all arms, and of ties if there are some.
func (a *app) listArms(t *tournament, s *duel.State) error {
	w := cli.NewTable(a.Out)
	ties, pairs := t.Ties()
	row := func(arm int, cells ...any) {
		if ties != nil {
			cells = append([]any{cells[0], cells[1], ties[arm]}, cells[2:]...)
		}
		w.Row(append([]any{t.names[arm]}, cells...)...)
	}
	if ties != nil {
		w.Row("ARM", "WINS", "DUELS", "TIES", "RATE", "OUT AFTER")
	} else {
		w.Row("ARM", "WINS", "DUELS", "RATE", "OUT AFTER")
	}
	for _, x := range s.Standings {
		row(x.Arm, x.Wins, x.Duels, fmt.Sprintf("%.3f", x.Rate), "-")
	}
	for i := len(s.Eliminated) - 1; i >= 0; i-- {
		e := s.Eliminated[i]
		out := fmt.Sprintf("%d duels: %s had %.3f against it", e.At, inSentence(t.names[e.Rival]), e.RivalRate)
		if e.Radius > 0 {
			out = fmt.Sprintf("%d duels: %s had %.3f, radius %.3f", e.At, inSentence(t.names[e.Rival]), e.RivalRate, e.Radius)
		}
		row(e.Arm, "", e.Duels, fmt.Sprintf("%.3f", e.Rate), out)
	}
	if len(pairs) > 0 {
		w.Row()
		w.Row("MOST TIES", "BETWEEN", "AND")
	}
	for _, p := range pairs {
		w.Row(p.Ties, t.names[p.A], t.names[p.B])
	}
	return w.Flush()
}

// leaning states how much judges prefer the arm shown first.
func leaning(l *duel.Lean) string {
	text := fmt.Sprintf("%+.3f to the arm shown first, in [%+.3f, %+.3f] with 95%%", l.Estimate, l.Low, l.High)
	if l.Low > 0 || l.High < 0 {
		text += "; the order is random, so it cancels out"
	}
	return text
}

func promise(s *duel.State) string {
	switch {
	case s.Guarantee != nil:
		return sure(s.Guarantee)
	case s.End == duel.HorizonReached:
		return "none: the horizon was reached with several arms left"
	}
	return "none: nothing is proven for this radius"
}
