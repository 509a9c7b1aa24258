package batch

import "cmp"

const (
	// answeredBytes is the memory of an atom in an Answer, searchScoreBytes that of its search score if the
	// request asks for it, certificateBytes that of the rest.
	answeredBytes, searchScoreBytes, certificateBytes = 12, 8, 640
)

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
		if run, rest := int64(part)*(w.queryBytes()+expected)+e.warmBytes(req.Published.Warm)+w.making()+w.gatheredBytes(part), int64(part)*(most-expected); run+rest > f.Run+f.Survivors {
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
