package batch

import (
	"cmp"
	"time"

	"thresher/backend"
	"thresher/collection"
)

const (
	// partBytes bounds the memory of the queries of one run unless Options.RunBytes does. Larger
	// batches are answered in parts, with the same answers.
	partBytes = 1 << 28
	// wideShare of the collection's memory, or minWideBytes if that is more, bounds what the coordinates
	// of the queries of one run take: a few rows of a million dimensions are small beside as many queries.
	// minWideBytes has room for the largest run of 4,096 dimensions.
	wideShare, minWideBytes = 1. / 8, 7 << 24
	// maxPart is the greatest number of queries of one run.
	maxPart = 1024
	// lookedBytes is the memory of a backend for each atom that a query wants and looks find:
	// four arms of the first chunk, the arm in the list and among the finalists, its lower bound,
	// its score, and its copies in the answer. scannedBytes is that of a dense scan: twice a row
	// that may be in the answer, its score, and the copies.
	lookedBytes, scannedBytes = 128, 80
	// rangeBytes is the memory of a dense scan for each atom that a thread finds among the best of
	// its range of rows: the threads divide the rows into 2 ranges each.
	rangeBytes = 24
	// coordinateBytes is the memory of a coordinate of a query: as it is given, in float64, rotated and coded.
	coordinateBytes = 24
	// survivorBytes is the memory of a backend for each arm that a look keeps: an entry of a list and, once its
	// whole row is read, a finalist, in slices that grow by a quarter. chunkEntryBytes is that of each atom of
	// chunkAtoms that a first look scans at a time, or of its first chunk if that is larger.
	survivorBytes, chunkEntryBytes, chunkAtoms = 5 * (8 + 16) / 4, 8, 4096
	// gatheredTerms is the memory of the terms of an atom whose codes are gathered, and of its part of a panel's places.
	gatheredTerms = int64(4*4 + 1)
	// unaskedBytes is what the survivors of a run may take without Options.Spare being asked, unless that said less before.
	unaskedBytes = 16 << 20
	// forecastError is by which factor forecasts of the arms that looks keep err.
	forecastError = 2
	// answeredBytes is the memory of an atom in an Answer, searchScoreBytes that of its search score if the
	// request asks for it, certificateBytes that of the rest.
	answeredBytes, searchScoreBytes, certificateBytes = 12, 8, 640
)

// spareAge is for how long an answer of Options.Spare stands.
const spareAge = 100 * time.Millisecond

// Footprint is the memory that a search takes in addition to the collection.
type Footprint struct {
	// Part is how many queries are answered at a time, Run the number of bytes of the run that
	// answers them, if looks keep at most twice as many atoms as forecast.
	Part int
	Run  int64
	// Survivors is how many bytes more the run takes if looks drop no atom at all.
	Survivors int64
	// Bounded is the greatest number of bytes that the run takes: Run and Survivors, or what Options.Spare says if it is less, but
	// at least what one query takes; runs of queries are divided by what runs before them kept.
	Bounded int64
	// Answers is the greatest number of bytes of the answers to all queries, which a Response
	// holds together.
	Answers int64
}

// Bytes is the greatest memory of the run and the answers together.
func (f *Footprint) Bytes() int64 { return f.Expected() + f.Survivors }

// Expected is the memory of the run and the answers together, if looks keep at most twice as many atoms as forecast.
func (f *Footprint) Expected() int64 { return f.Run + f.Answers }

// MaxQueryBytes bounds the memory, in bytes, of a query of so many dimensions that wants the best k of n vectors in a run
// on one thread, by methods that have no state of each vector, so that small requests need no Footprint. What a first search
// makes for later ones is not in it (Engine.Making).
func MaxQueryBytes(n, dim, k int) int64 {
	return coordinateBytes*int64(dim) + 256 + max(lookedBytes, scannedBytes)*int64(k) + chunkEntryBytes*chunkAtoms + survivorBytes*int64(n)
}

// Footprint states the memory that Search would take for so many queries like those of req, whose
// Queries may be empty. For queries that want any number of atoms, Answers counts Limit atoms, or as
// many as Reaching says. Errors are those of Search.
func (e *Engine) Footprint(req Request, queries int) (Footprint, error) {
	if len(req.Queries) == 0 {
		req.Queries, req.Goals = make([]float32, e.c.Dim), nil
	}
	var f Footprint
	split := req.split(e.c.Dim)
	for i := range split {
		w, err := e.newWork(&split[i].Request, split[i].numbers)
		if err != nil {
			return f, split[i].renumber(err)
		}
		part := min(w.maxQueries(), max(1, queries))
		expected, most := w.survivorBytes()
		if run, rest := int64(part)*(w.queryBytes()+expected)+e.warmBytes(req.Published.Warm)+w.unmadeSigns()+w.gatheredBytes(part), int64(part)*(most-expected); run+rest > f.Run+f.Survivors {
			f.Part, f.Run, f.Survivors, f.Bounded = part, run, rest, run+rest
			if int64(part)*most > e.unasked() {
				if spare := e.spareBytes(f.Bounded); spare > 0 {
					f.Bounded = min(f.Bounded, max(spare, f.Bounded/int64(part)))
				}
			}
		}
		answered := int64(answeredBytes)
		if w.req.SearchScores {
			answered += searchScoreBytes
		}
		f.Answers = max(f.Answers, int64(queries)*(certificateBytes+answered*int64(cmp.Or(w.k, min(w.req.Limit, e.c.N), w.wanted()))))
	}
	return f, nil
}

// maxQueries bounds the queries of one run of w.
func (w *work) maxQueries() int {
	wide := max(minWideBytes, int64(wideShare*float64(w.e.c.Bytes())))
	return int(max(1, min(maxPart, w.e.runBytes()/w.queryBytes(), wide/w.wideBytes())))
}

// together returns how many of so many queries like those of w share a run that begins now: at most so many that it takes
// what Options.Spare says if their looks keep as many arms as those of runs before kept at most.
func (w *work) together(queries int) int {
	n := min(queries, w.maxQueries())
	expected, most := w.survivorBytes()
	if n < 2 || int64(n)*most <= w.e.unasked() {
		return n
	}
	each := w.queryBytes() + most
	spare := w.e.spareBytes(int64(min(n, partStep)) * each)
	if spare <= 0 {
		return n
	}
	if known := w.e.keeps.Load(); known > 0 {
		each = w.queryBytes() + min(most, max(expected, w.chunkBytes()+survivorBytes*known))
	}
	return int(max(1, min(int64(n), spare/each)))
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

// spared is what Options.Spare returned at a time.
type spared struct {
	at    time.Time
	bytes int64
}

// unasked is what the survivors of a run may take without Options.Spare being asked.
func (e *Engine) unasked() int64 {
	if s := e.spared.Load(); s != nil {
		return min(s.bytes, unaskedBytes)
	}
	return unaskedBytes
}

// spareBytes is what Options.Spare returned a short while ago; 0 if nobody knows.
func (e *Engine) spareBytes(need int64) int64 {
	if e.opt.Spare == nil {
		return 0
	}
	s := e.spared.Load()
	if s == nil || time.Since(s.at) > spareAge {
		s = &spared{time.Now(), e.opt.Spare(need)}
		e.spared.Store(s)
	}
	return s.bytes
}

// runBytes bounds the memory of the queries of one run, and of what is read once for all queries.
func (e *Engine) runBytes() int64 { return cmp.Or(e.opt.RunBytes, partBytes) }

// warmBytes is the memory of so many coordinates of all atoms, read once for all queries.
func (e *Engine) warmBytes(coordinates int) int64 { return 8 * int64(coordinates) * int64(e.c.N) }

// wideBytes estimates what the coordinates of one query take of queryBytes.
func (w *work) wideBytes() int64 { return coordinateBytes * int64(w.e.c.Dim) }

// queryBytes estimates the memory of one query in a backend.
func (w *work) queryBytes() int64 {
	few, wanted := w.strategy.queryBytes(w.e.c), int64(w.wanted())
	if !w.dense() {
		return few + lookedBytes*wanted
	}
	if threads := int64(w.e.threads()); threads > 1 {
		few += rangeBytes * (min(int64(w.e.c.N), 2*threads*wanted) - wanted)
	}
	return few + scannedBytes*wanted
}

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

// gatheredBytes bounds the memory of what the first look of a run of so many queries gathers of the allowed atoms: terms, of several
// queries codes too, in panels of which no two neighbours have room in one.
func (w *work) gatheredBytes(queries int) int64 {
	if w.e.threads() == 0 || w.strategy.reference != nil || len(w.strategy.Looks) == 0 || !w.strategy.Looks[0].Gather || w.allowed == w.e.c.N {
		return 0
	}
	bytes := gatheredTerms
	if l := &w.strategy.Looks[0]; queries > 1 {
		bytes += int64(l.Rep.AtomBytes(w.e.c.R, l.To))
	}
	return (2*int64(w.allowed) + collection.PanelAtoms) * bytes
}

// chunkBytes is the memory of a chunk of a first look.
func (w *work) chunkBytes() int64 {
	return chunkEntryBytes * int64(min(w.e.c.N, max(chunkAtoms, w.strategy.Looks[0].FirstChunk)))
}

// dense reports whether a dense scan answers w.
func (w *work) dense() bool { return w.strategy.reference == nil && w.strategy.Dense() }

// wanted is how many atoms a query is expected to find: K, or without one as many as Reaching
// says. It is 0 if nothing is known.
func (w *work) wanted() int {
	if w.k > 0 {
		return w.k
	}
	found := int(min(w.req.Reaching, float64(w.e.c.N)))
	if w.req.Limit > 0 {
		found = min(found, w.req.Limit)
	}
	return found
}

// queryBytes estimates the memory of one query that wants few atoms.
func (s *strategy) queryBytes(c *collection.Collection) int64 {
	b := coordinateBytes*int64(c.Dim) + 256
	if s.perArm {
		b += 96 * int64(c.N)
	}
	return b
}
