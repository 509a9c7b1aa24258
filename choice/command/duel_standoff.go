package command

import (
	"fmt"

	"thresher/choice/duel"
)

// standoffNotice says on standard error when two arms are hard to tell apart: first when that is
// known, then whenever the number of duels has doubled.
type standoffNotice struct {
	next int64 // the least number of duels at which it is said again
}

// due reports whether it is time to say it.
func (n *standoffNotice) due(t *tournament) bool {
	s := t.State()
	return s.Standoff != nil && s.Duels >= n.next
}

// tell says it if it is due; stop is how one stops here.
func (n *standoffNotice) tell(a *app, t *tournament, stop string) {
	if !n.due(t) {
		return
	}
	s := t.State()
	x := s.Standoff
	n.next = 2 * s.Duels
	fmt.Fprintf(a.Err, "\nhard to tell apart after %d judgments: %s won %d of %d against %s\n", s.Duels, inSentence(t.names[x.A]), x.Wins, x.Duels, inSentence(t.names[x.B]))
	fmt.Fprintf(a.Err, "  preference    %.3f, in [%.3f, %.3f] with 95%%\n", x.Rate, x.Low, x.High)
	fmt.Fprintf(a.Err, "  still needed  %s\n", stillNeeded(x, t.Config().Epsilon))
	fmt.Fprintf(a.Err, "  so far        %s leads; %s\n", inSentence(t.names[s.Leader]), soFar(t, &s))
	fmt.Fprintf(a.Err, "  you may       stop now with that: %s; or start over with --epsilon E (a winner within E of the best will do) or --horizon N (at most N judgments)\n", stop)
}

// stillNeeded forecasts how many further judgments of a standoff's pair are needed.
func stillNeeded(x *duel.Standoff, epsilon float64) string {
	text := "more judgments than can be made"
	if x.Needed > 0 {
		text = fmt.Sprintf("about %d more judgments of the two, if that is the preference", x.Needed-x.Duels)
	}
	if epsilon == 0 {
		text += "; if they are equal, this never ends"
	}
	return text
}

// soFar states what is guaranteed of a tournament that has not ended.
func soFar(t *tournament, s *duel.State) string {
	switch {
	case s.Ranking != nil:
		return rankPromise(s.Ranking, s, t.Config().Epsilon)
	case s.Copeland != nil:
		return fmt.Sprintf("the scores are as shown when you stop, wrong with probability at most %.3g", s.Copeland.Failure)
	case s.Guarantee != nil:
		return sure(s.Guarantee)
	}
	return "nothing is sure of it yet"
}
