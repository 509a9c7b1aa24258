package tasks

import (
	"thresher/batch"
	"thresher/dataset"
)

// promise sets what a merged answer promises. docs/guarantee.md, "Merged answers", has the proof.
func (m *merger) promise(out *dataset.Result) {
	sure := true // nothing is known to be unfounded
	for i := range m.answers {
		a := &m.answers[i]
		g, worst := batch.Guarantee(a.Guarantee), batch.Guarantee(out.Guarantee)
		if i == 0 || g.Rank() > worst.Rank() {
			out.Guarantee = a.Guarantee
		}
		if g.CanFail() {
			out.Delta = m.chances.Add(out.Delta, a.Delta)
		}
		out.Epsilon = max(out.Epsilon, a.Epsilon)
		sure = sure && (a.Found() == 0 || a.Scores64 != nil)
	}
	if len(m.answers) > 1 && (out.Delta > 0 && m.chances == batch.Unfounded || out.Delta >= 1 || !sure) {
		out.Guarantee = string(batch.GuaranteeHeuristic)
	}
	if !batch.Guarantee(out.Guarantee).CanFail() {
		out.Delta = 0
	}
}
