package scan

import (
	"math"

	"thresher/backend"
	"thresher/cpu/arms"
)

// maxPanels is the greatest number of panels in a chunk, unless the plan's first chunk is
// larger. A scan takes chunks of first, first, 2 first, 4 first, .. maxPanels panels and
// raises thresholds between chunks only. The boundaries depend on the plan alone.
const maxPanels = 64

// minChunk is the number of panels in the first chunk of look l.
func minChunk(l backend.Look) int { return max(1, l.FirstChunk/arms.PanelAtoms) }

// chunkStart returns the first panel of the chunk that contains panel p.
func chunkStart(first, p int) int {
	lo := 0
	for end := chunkEnd(first, lo, p+1); end <= p; end = chunkEnd(first, lo, p+1) {
		lo = end
	}
	return lo
}

// chunkEnd returns the end of the chunk that begins at panel lo.
func chunkEnd(first, lo, panels int) int {
	return min(lo+max(first, min(lo, maxPanels)), panels)
}

// splitBytes is how many bytes of codes, summed over the queries, justify one more
// goroutine for a chunk.
const splitBytes = 4 << 20

// minSurvey is the least number of atoms that a query must have seen before it goes
// dense. It must also have seen 16 k atoms: before that its threshold is far from final.
const minSurvey = 1024

// firstPanel is the first panel that one of the queries may return an atom of.
func firstPanel(qs []*scanning) int {
	first := math.MaxInt
	for _, q := range qs {
		first = min(first, q.Goal.From/arms.PanelAtoms)
	}
	return first
}

// course is the panels that a scan takes in chunks: those of the collection, or of a gathering.
type course struct {
	panels int // of which chunks are ranges
	g      *gathering
	toScan []uint32 // the collection's panels with an atom that a query may return; without a gathering
}

// newCourse returns the course of a scan for queries, of g if it is not nil.
func (x *Run) newCourse(g *gathering, qs []*scanning) course {
	if g != nil {
		return course{panels: len(g.numbers), g: g}
	}
	return course{panels: x.C.PanelCount(), toScan: x.panelsToScan(qs)}
}

// at returns the panel of the course that the query scans next.
func (c *course) at(q *scanning) int {
	if c.g == nil {
		return q.NextPanel
	}
	panel, _ := c.g.at(q.NextPanel)
	return panel
}

// chunk returns those of panels lo to hi-1 that the queries scan, and the panel of the collection that is next.
func (c *course) chunk(qs []*scanning, lo, hi int) (panels []uint32, next int) {
	if c.g == nil {
		return panelsBetween(c.toScan, min(max(lo, firstPanel(qs)), hi), hi), hi
	}
	return c.g.numbers[lo:hi], int(c.g.starts[hi])
}
