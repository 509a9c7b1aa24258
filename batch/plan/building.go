package plan

import (
	"thresher/backend"
	"thresher/collection"
)

// What building takes, in terms of the costs that are measured. Building was measured at 450 to 570 MB/s of
// float32 rows a core where Costs.Rotate was 1.7, and its pilot at 7 to 30 ms.
const (
	// builtRotations is the cost of a coordinate that is built, as a multiple of Costs.Rotate.
	builtRotations = 4.5
	// pilotRotations is the number of rotated coordinates that take as long as the pilot of a collection of
	// pilotAtoms atoms or more.
	pilotRotations, pilotAtoms = 10e6, 4096
	// eliminated divides the cost of a dense scan where looks answer: a forecast in place of the pilot's,
	// which there is not before building.
	eliminated = 3
)

// Once is what is known of rows that are searched once, before codes are built.
type Once struct {
	Method    Method
	Rows, Dim int
	Metric    collection.Metric
	K         int   // atoms wanted; 0: all that reach a score
	Queries   int64 // in all; below 0 if unknown
}

// Builds reports whether building codes and searching by them is forecast to take less than a dense scan of the
// rows as they lie. Rows without codes have no use for few queries, and method Exact has none for codes. Methods
// that need codes build.
func (o *Once) Builds(costs *backend.Costs) bool {
	switch {
	case o.Method == Exact || o.Dim < collection.MinRotated:
		return false
	case o.Method == Adaptive || o.Queries < 0:
		return true
	case o.K > o.Rows/leastArms: // most arms are read in full anyway
		return false
	}
	saved := (1 - 1./eliminated) * o.scan(costs) * float64(o.Queries)
	return saved > o.build(costs)
}

// scan is the cost of a dense scan for one of the queries, in ns.
func (o *Once) scan(costs *backend.Costs) float64 {
	p := New(&collection.Collection{N: o.Rows, Dim: o.Dim, Metric: o.Metric}, *costs, backend.PortableCapacity()).
		problem(Question{Method: Exact, K: o.K, Arms: o.Rows, Panels: 1, Delta: .01, Together: Together(int(min(o.Queries, mostTogether)))})
	_, cost := p.withSource(p.denseLadder())
	return cost * float64(o.Rows)
}

// build is the cost of building, in ns.
func (o *Once) build(costs *backend.Costs) float64 {
	pilot := pilotRotations * float64(min(o.Rows, pilotAtoms)) / pilotAtoms
	return costs.Rotate * (builtRotations*float64(o.Rows)*float64(o.Dim) + pilot)
}
