package threads

const (
	// leastHelped is the least number of bytes of codes that a search may be expected to read for which there are
	// helpers: in less than 100 us, those that come and go cost more than they save.
	leastHelped = 7 << 19
	// wakingBytes is that number if no search has ended just before. To wake a helper takes up to 35 us on a
	// virtual machine.
	wakingBytes = 8 << 20
)

// Team is the goroutine of a run of one query, and the helpers that it may have. Runs of more queries have none.
type Team struct {
	r      *Crew
	may    bool   // the run may have helpers
	alone  bool   // its looks are too short for helpers
	called bool   // helpers were called
	parts  Pieces // of steps that are divided into as many pieces as a queue has room for
}

// Reset prepares the team of a run. It may have helpers if single says that the run is of one query, and it reads at
// most so many bytes of codes.
func (g *Team) Reset(r *Crew, single bool, bytes int) {
	r.Helpers.busy.Add(1) // until End
	g.r, g.alone, g.called = r, false, false
	g.may = single && bytes >= leastHelped && r.Helpers.cores >= 2
}

// Call calls helpers for a search that is expected to read so many bytes, if it may have any. Waking one slows the
// run down, as long as a short look takes, so short searches have helpers only if they follow each other closely.
func (g *Team) Call(bytes float64) {
	if !g.Helped() {
		return
	}
	h := g.r.Helpers
	switch {
	case bytes < leastHelped:
		g.alone = true
	case bytes >= wakingBytes || h.recent():
		g.called = true
		h.call()
	}
}

// Keep keeps the helpers that the run has called looking for its pieces while it computes: from
// Keep(1) until Keep(-1). Between two pieces a run may compute for longer than they are patient.
func (g *Team) Keep(n int64) {
	if g.called {
		g.r.Helpers.expected.Add(n)
	}
}

// Helped reports whether the run may have helpers.
func (g *Team) Helped() bool { return g.may && !g.alone }

// Shares reports whether n arms or rows, of which so many are worth it, are divided into pieces.
func (g *Team) Shares(n, least int) bool { return n >= least && g.Helped() }

// ShareOut calls do for consecutive ranges of 0 to n-1, some of them on helpers, and waits for all.
func (g *Team) ShareOut(n int, do func(w *Scratch, lo, hi int)) {
	w := g.r.GetScratch()
	defer g.r.PutScratch(w)
	h, j := g.r.Helpers, &g.parts
	j.Start(g.r, Ring, func(w *Scratch, i int) { do(w, n*i/Ring, n*(i+1)/Ring) })
	j.Open(Ring)
	offered := h.Offer(j)
	for i := range Ring {
		j.Await(w, i)
	}
	if offered {
		h.Withdraw(j)
	}
}

// End notes the end of the run.
func (g *Team) End() {
	g.r.Helpers.busy.Add(-1)
	if g.Helped() {
		g.r.Helpers.noteEnd()
	}
}
