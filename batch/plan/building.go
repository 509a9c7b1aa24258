package plan

import (
	"thresher/backend"
	"thresher/collection"
)

// What building takes and saves, in terms of the costs that are measured: fitted to the least times of one core of an
// AMD EPYC (Zen 5) by its built-in costs, of 1,000 x 768, 4,000 x 128, 20,000 x 128 and 60,000 x 768
// (go test ./batch -run '^$' -bench BuildingPays; docs/planning.md says from how many queries on it pays).
const (
	// builtRotations, builtRows and builtColumns are the costs of a coordinate that is built, of a row, and of a column of the
	// sample that the head is fitted to, as multiples of Costs.Rotate. Norms, which rows without codes
	// have too, are left out.
	builtRotations, builtRows, builtColumns = 1.9, 210, 2500
	// pilotRotations is the same for the forecast, for each of up to pilotAtoms rows.
	pilotRotations, pilotAtoms = 2600, 2048
	// Looks before there is a forecast: one at lookedCodes codes of each row, with what follows it a
	// multiple of its cost, and before it so many rotations of a coordinate, and so many times Costs.Query. For the 10
	// best of rows like embeddings, of which looks keep few.
	lookedCodes, lookedOver, lookedRotations, lookedQueries = 96, 1.2, 4, 8
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
	case o.K > o.Rows/minArms: // most arms are read in full anyway
		return false
	}
	return (o.scan(costs)-o.looks(costs))*float64(o.Queries) > o.build(costs)
}

// scan is the cost of a dense scan for one of the queries, in ns.
func (o *Once) scan(costs *backend.Costs) float64 {
	p := New(&collection.Collection{N: o.Rows, Dim: o.Dim, Metric: o.Metric}, *costs, backend.PortableCapacity()).
		problem(Question{Method: Exact, K: o.K, Arms: o.Rows, Panels: 1, Delta: .01, Together: Together(int(min(o.Queries, maxTogether)))})
	_, cost := p.withSource(p.denseLadder())
	return cost * float64(o.Rows)
}

// looks is the cost of looks for one of the queries, in ns.
func (o *Once) looks(costs *backend.Costs) float64 {
	row := lookedOver * (lookedCodes*costs.Scan + costs.Test)
	return row*float64(o.Rows) + lookedRotations*costs.Rotate*float64(o.Dim) + lookedQueries*costs.Query
}

// build is the cost of building and of the forecast, in ns.
func (o *Once) build(costs *backend.Costs) float64 {
	n, dim := float64(o.Rows), float64(o.Dim)
	return costs.Rotate * (builtRotations*n*dim + builtRows*n + builtColumns*dim + pilotRotations*min(n, pilotAtoms))
}
