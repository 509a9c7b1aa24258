package scan

import (
	"context"
	"slices"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/cpu/arms"
	"thresher/cpu/threads"
	"thresher/cpu/topk"
	"thresher/simd"
)

const (
	// gatheredStrip is how many consecutive panels of a gathering share the greatest of each term.
	gatheredStrip = 4
	// gatheredTogether is how many panels of a gathering a goroutine copies at a time.
	gatheredTogether = 16
	// rowsAhead is how many rows lie between one that is copied and one whose reading begins.
	rowsAhead = 16
)

// gathering is the codes and terms of the atoms that a filter allows, in panels of their own, which the queries of a
// run that have this filter share. A panel has the allowed atoms of consecutive panels of the collection, as many as
// it has room for; so what a query has scanned is a number of panels of the collection here too. Once made it is
// read only.
type gathering struct {
	atoms   []uint32 // those allowed, ascending; the filter owns it
	first   []int    // the place in atoms of the first of each panel, and the number of all
	starts  []uint32 // the first panel of the collection that each covers, and the number of all
	numbers []uint32 // 0, 1, ..: of the panels
	strips  []looks.Strip
	panels  []uint8 // [panels][codes of the look][64]; nil if one query reads the rows of codes where they are

	headScale, scale, radius, offset []float32 // [panels][64], 0 beyond the last atom of a panel; offset may be nil
}

// layOut divides the atoms of a filter, in a collection of so many panels, into panels.
func layOut(atoms []uint32, panels int) *gathering {
	g := &gathering{atoms: atoms}
	for lo := 0; lo < len(atoms); {
		panel, hi := atoms[lo]/arms.PanelAtoms, lo+1
		for hi < len(atoms) && atoms[hi]/arms.PanelAtoms == panel {
			hi++
		}
		if n := len(g.first); n == 0 || hi-g.first[n-1] > arms.PanelAtoms {
			g.numbers = append(g.numbers, uint32(n))
			g.first, g.starts = append(g.first, lo), append(g.starts, panel)
		}
		lo = hi
	}
	g.first, g.starts = append(g.first, len(atoms)), append(g.starts, uint32(panels))
	g.starts[0] = 0
	return g
}

// gatheringKey is what a gathering of a filter depends on; of the look only what compiled looks do.
type gatheringKey struct {
	r    *Panels
	look backend.Look
}

// gather returns what look t reads of the atoms that f allows, for so many queries: as f keeps it, or copied, for f to
// keep if it is used again.
func (x *Run) gather(ctx context.Context, t *looks.Compiled, f *backend.Filter, queries int) (*gathering, error) {
	if !f.Keeps() {
		return x.copyAllowed(ctx, t, f, queries > 1, &x.gathered)
	}
	key := gatheringKey{x.r, backend.Look{Rep: t.Look.Rep, Rule: t.Look.Rule, From: t.Look.From, To: t.Look.To, Alpha: t.Look.Alpha}}
	if g, ok := f.Kept(key).(*gathering); ok {
		return g, nil
	}
	g, err := x.copyAllowed(ctx, t, f, true, &gatheredMemory{})
	if err == nil {
		f.Keep(key, g)
	}
	return g, err
}

// copyAllowed copies to m what look t reads of the atoms that f allows; of the codes only if inPanels says so, for one query
// can read them where they are.
func (x *Run) copyAllowed(ctx context.Context, t *looks.Compiled, f *backend.Filter, inPanels bool, m *gatheredMemory) (*gathering, error) {
	g := layOut(f.Atoms(), x.C.PanelCount())
	n := len(g.numbers)
	m.divide(g, n*arms.PanelAtoms, x.C.Offset != nil)
	if inPanels {
		m.panels = topk.Grow(m.panels, n*arms.PanelAtoms*t.AtomBytes)
		g.panels = m.panels
	}
	g.strips = make([]looks.Strip, (n+gatheredStrip-1)/gatheredStrip)
	err := x.r.Each(ctx, (n+gatheredTogether-1)/gatheredTogether, func(base *threads.Scratch, i int) error {
		w := scratchOf(base)
		for p := i * gatheredTogether; p < min((i+1)*gatheredTogether, n); p++ {
			g.copyPanel(x, w, t, p)
		}
		return nil
	})
	for s := range g.strips {
		g.coverStrips(t, s)
	}
	return g, err
}

// gatheredMemory is the memory of a gathering. That of a run is reused by the next one, unless a filter keeps it.
type gatheredMemory struct {
	panels []uint8
	terms  []float32
}

// divide gives g memory for the terms of so many places.
func (m *gatheredMemory) divide(g *gathering, places int, offsets bool) {
	m.terms = topk.Grow(m.terms, 4*places)
	g.headScale, g.scale, g.radius = m.terms[:places], m.terms[places:2*places], m.terms[2*places:3*places]
	if offsets {
		g.offset = m.terms[3*places:]
	}
}

// copyPanel copies codes and terms of panel p.
func (g *gathering) copyPanel(x *Run, w *scratch, t *looks.Compiled, p int) {
	c, width, at := x.C, t.AtomBytes, p*arms.PanelAtoms
	ids := g.atomsOf(p)
	gatherTerms(g.headScale[at:at+arms.PanelAtoms], c.HeadScale, ids)
	gatherTerms(g.scale[at:at+arms.PanelAtoms], t.Scale, ids)
	gatherTerms(g.radius[at:at+arms.PanelAtoms], t.Radius, ids)
	if g.offset != nil {
		gatherTerms(g.offset[at:at+arms.PanelAtoms], c.Offset, ids)
	}
	if g.panels == nil {
		return
	}
	row := c.R + c.D
	w.rows = topk.Grow(w.rows, len(ids)*width)
	later := g.atoms[min(g.first[p]+rowsAhead, len(g.atoms)):]
	for i, a := range ids {
		if i < len(later) {
			from := int(later[i]) * row
			x.r.Kernels.PrefetchBytes(c.Codes[from : from+width])
		}
		copy(w.rows[i*width:(i+1)*width], c.Codes[int(a)*row:])
	}
	x.r.Kernels.Transpose(g.panels[at*width:(at+arms.PanelAtoms)*width], w.rows, width, len(ids), width)
}

// gatherTerms writes a term of atoms to dst, and 0 after them.
func gatherTerms(dst, term []float32, ids []uint32) {
	for i, a := range ids {
		dst[i] = term[a]
	}
	clear(dst[len(ids):])
}

// coverStrips makes each term of strip s the greatest of those of the collection's strips in which its atoms are. The
// mean radius is that of its atoms.
func (g *gathering) coverStrips(t *looks.Compiled, s int) {
	strip, lo, hi := &g.strips[s], s*gatheredStrip, min((s+1)*gatheredStrip, len(g.numbers))
	ids := g.atoms[g.first[lo]:g.first[hi]]
	for k := 0; k < len(ids); {
		number := ids[k] / looks.StripAtoms
		strip.Cover(&t.Strips[number])
		for k < len(ids) && ids[k]/looks.StripAtoms == number {
			k++
		}
	}
	sum := 0.
	for _, r := range g.radius[lo*arms.PanelAtoms : hi*arms.PanelAtoms] {
		sum += float64(r)
	}
	strip.MeanRadius = sum / float64(len(ids))
}

// atomsOf returns the atoms of panel p.
func (g *gathering) atomsOf(p int) []uint32 { return g.atoms[g.first[p]:g.first[p+1]] }

// at returns the panel from which on atoms are from panel next of the collection on, and whether no panel has atoms
// from before and from there on.
func (g *gathering) at(next int) (panel int, found bool) {
	return slices.BinarySearch(g.starts, uint32(next))
}

// terms writes the terms of the atoms of panel p to lanes.
func (g *gathering) terms(lanes *simd.PanelTerms, p int) {
	lo := p * arms.PanelAtoms
	*lanes = simd.PanelTerms{Head: (*[arms.PanelAtoms]float32)(g.headScale[lo:]), Rest: (*[arms.PanelAtoms]float32)(g.scale[lo:]), Radius: (*[arms.PanelAtoms]float32)(g.radius[lo:])}
	if g.offset != nil {
		lanes.Offset = (*[arms.PanelAtoms]float32)(g.offset[lo:])
	}
}

// allowed is the mask of the places of panel p that have an atom.
func (g *gathering) allowed(p int) uint64 {
	return ^uint64(0) >> (arms.PanelAtoms - (g.first[p+1] - g.first[p]))
}

// toAtoms replaces places in the panels, 64 each, by the atoms there.
func (g *gathering) toAtoms(places []uint32) {
	for k, i := range places {
		places[k] = g.atoms[g.first[i/arms.PanelAtoms]+int(i%arms.PanelAtoms)]
	}
}

// gathers reports whether look l reads of the query's atoms only those that its filter allows. A look whose own lower
// bounds may raise the threshold reads panels.
func (s *Query) gathers(l backend.Look) bool {
	return l.Gather && l.Rep == backend.Panels && (l.To < s.C.D || l.Source != backend.LowerBound) && s.Goal.Filter != nil && s.Goal.From == 0
}

// firstStrip returns the strip of the first panel of a chunk, of which scanned lists those scanned.
func (q *scanning) firstStrip(scanned []uint32) *looks.Strip {
	if g := q.gathering; g != nil {
		return &g.strips[scanned[0]/gatheredStrip]
	}
	return &q.bound.Strips[q.NextPanel/looks.StripPanels]
}
