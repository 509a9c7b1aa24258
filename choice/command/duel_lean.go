package command

import "fmt"

// leanNotice says on standard error, once, that a judge prefers a place whatever it is shown. The bounds of a
// lean hold at all times together with probability 95%, so that it is said of a judge who leans by at most
// toldLean in at most 5% of the tournaments.
type leanNotice struct{ told bool }

// toldLean is the least lean that is told.
const toldLean = .1

// due reports whether it is time to say it.
func (n *leanNotice) due(t *tournament) bool {
	l := t.State().Lean
	return !n.told && l != nil && (l.Low > toldLean || l.High < -toldLean)
}

// tell says it if it is due.
func (n *leanNotice) tell(a *app, t *tournament) {
	if !n.due(t) {
		return
	}
	n.told = true
	l := t.State().Lean
	place, share := "first", .5+l.Estimate
	if l.Estimate < 0 {
		place, share = "second", .5-l.Estimate
	}
	fmt.Fprintf(a.Err, "\nthe judge leans to the text shown %s: it won %.0f of %d duels, where the order is drawn at random\n", place, share*float64(l.Duels), l.Duels)
	fmt.Fprintf(a.Err, "  lean          %+.3f, in [%+.3f, %+.3f] with 95%%\n", l.Estimate, l.Low, l.High)
	if share == 1 {
		fmt.Fprintf(a.Err, "  it may be     that the command answers the same whatever it is shown; then nothing is learned, and this may never end\n")
	} else {
		fmt.Fprintf(a.Err, "  it costs      judgments, but favours no arm\n")
	}
	fmt.Fprintf(a.Err, "  you may       let it go on; or stop, correct the command, and start over with --overwrite; or add --both-orders, by which contradictions are ties\n")
}
