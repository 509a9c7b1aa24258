package batch

import (
	"cmp"

	"thresher/backend"
)

const (
	// survivorBytes is the memory of a backend for each arm that a look keeps: an entry of a list and, once its
	// whole row is read, a finalist, in slices that grow by a quarter. chunkEntryBytes is that of each atom of
	// chunkAtoms that a first look scans at a time, or of its first chunk if that is larger.
	survivorBytes, chunkEntryBytes, chunkAtoms = 5 * (8 + 16) / 4, 8, 4096
	// forecastError is by which factor forecasts of the arms that looks keep err.
	forecastError = 2
)

// survivorBytes returns what the lists of one query's survivors take in a backend on the CPU, if looks keep
// forecastError times as many arms as forecast, and if they keep all. Other backends have lists of a fixed size in
// memory of their own.
func (w *work) survivorBytes() (expected, most int64) {
	if w.e.threads() == 0 || w.dense() || w.strategy.perArm || w.strategy.reference != nil || len(w.strategy.Looks) == 0 {
		return 0, 0
	}
	chunk := w.chunkBytes()
	share := min(1, forecastError*w.strategy.predicted())
	return chunk + int64(share*survivorBytes*float64(w.allowed)), chunk + survivorBytes*int64(w.allowed)
}

// chunkBytes is the memory of a chunk of a first look.
func (w *work) chunkBytes() int64 {
	return chunkEntryBytes * int64(min(w.e.c.N, max(chunkAtoms, w.strategy.Looks[0].FirstChunk)))
}

// Runs are taken to keep keepsMore times as many arms of a query as the run before them, since a look lists more than it keeps
// at its end, and at least keepsLeast of all. They are taken to keep no less than a part of what was taken before: of few
// queries keepsPart, of one nearly all, since it says little of many.
const keepsMore, keepsLeast, keepsPart, fewKept = 4, 1. / 8, .25, 32

// noteKept notes how many arms the looks of a run kept of a query.
func (e *Engine) noteKept(answers backend.Answers) {
	if e.opt.Spare == nil || len(answers) == 0 {
		return
	}
	all := 0
	for i := range answers {
		kept := 0
		for j := range answers[i].Looks {
			kept = max(kept, answers[i].Looks[j].Survivors)
		}
		all += kept
	}
	m, n := float64(len(answers)), float64(e.c.N)
	before := float64(cmp.Or(e.keeps.Load(), int64(e.c.N)))
	keeps := max(keepsMore*float64(all)/m, keepsLeast*n, before*max(keepsPart, 1-m/fewKept))
	e.keeps.Store(1 + int64(min(keeps, n))) // of two runs at once the later one is noted
}
