package cpu

const (
	// leastHelped is the least number of bytes of codes that a search may be expected to read for which there are
	// helpers: in less than 100 us, those that come and go cost more than they save.
	leastHelped = 7 << 19
	// wakingBytes is that number if no search has ended just before. To wake a helper takes up to 35 us on a
	// virtual machine.
	wakingBytes = 8 << 20
)

// team is the goroutine of a run of one query, and the helpers that it may have. Runs of more queries have none.
type team struct {
	r      *crew
	may    bool       // the run may have helpers
	alone  bool       // its looks are too short for helpers
	called bool       // helpers were called
	parts  pieceQueue // of steps that are divided into as many pieces as a queue has room for
}

// reset prepares the team of a run. It may have helpers if single says that the run is of one query, and it reads at
// most so many bytes of codes.
func (g *team) reset(r *crew, single bool, bytes int) {
	g.r, g.alone, g.called = r, false, false
	g.may = single && bytes >= leastHelped && r.helpers.cores >= 2
}

// call calls helpers for a search that is expected to read so many bytes, if it may have any. Waking one slows the
// run down, as long as a short look takes, so short searches have helpers only if they follow each other closely.
func (g *team) call(bytes float64) {
	if !g.helped() {
		return
	}
	h := g.r.helpers
	switch {
	case bytes < leastHelped:
		g.alone = true
	case bytes >= wakingBytes || h.recent():
		g.called = true
		h.call()
	}
}

// keep keeps the helpers that the run has called looking for its pieces while it computes: from
// keep(1) until keep(-1). Between two pieces a run may compute for longer than they are patient.
func (g *team) keep(n int64) {
	if g.called {
		g.r.helpers.expected.Add(n)
	}
}

// helped reports whether the run may have helpers.
func (g *team) helped() bool { return g.may && !g.alone }

// shares reports whether n arms or rows, of which so many are worth it, are divided into pieces.
func (g *team) shares(n, least int) bool { return n >= least && g.helped() }

// shareOut calls do for consecutive ranges of 0 to n-1, some of them on helpers, and waits for all.
func (g *team) shareOut(n int, do func(w *scratch, lo, hi int)) {
	w := g.r.getScratch()
	defer g.r.putScratch(w)
	h, j := g.r.helpers, &g.parts
	j.start(g.r, ring, func(w *scratch, i int) { do(w, n*i/ring, n*(i+1)/ring) })
	j.open(ring)
	offered := h.offer(j)
	for i := range ring {
		j.await(w, i)
	}
	if offered {
		h.withdraw(j)
	}
}

// end notes the end of the run.
func (g *team) end() {
	g.r.helpers.busy.Add(-1)
	if g.helped() {
		g.r.helpers.noteEnd()
	}
}
