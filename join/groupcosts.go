package join

// Costs by which a group is scanned here, by products in float32 first or row by row in float64, or searched by an engine of
// its own, in ns of a core, by BenchmarkMatch. Either way the answers are the same.
const (
	scanRow, scanCoordinate       = 4, .13    // of each pair
	siftCoordinate                = .2        // of each row of the group
	siftQuery, siftFound          = 1500, 30  // of each query, and of each row that it asks for
	siftRow, siftProduct          = 2.5, .025 // of each pair
	searchGroup                   = 50000     // of a group whose engine is there
	openGroup                     = 50000     // of one whose engine is not
	searchQuery, searchCoordinate = 8000, .03 // of each query, and of each pair
)

// scanCost is what a scan of queries of a group takes.
func (r *Right) scanCost(rows, queries int) float64 {
	dim, pairs := float64(r.c.Dim), float64(rows)*float64(queries)
	if !r.sifts(rows, queries) {
		return pairs * (scanRow + dim*scanCoordinate)
	}
	return float64(rows)*dim*siftCoordinate + float64(queries)*(siftQuery+siftFound*float64(r.o.Request.K)) + pairs*(siftRow+dim*siftProduct)
}

// alone is from how many coordinates of pairs on a group is searched by all threads, and not beside others.
const alone = 1 << 28

// scanPays reports whether queries of a group are answered sooner by a scan.
func (r *Right) scanPays(g int32, queries int) bool {
	dim := float64(r.c.Dim)
	pairs := float64(r.size(g)) * float64(queries)
	search := searchGroup + float64(queries)*searchQuery + pairs*dim*searchCoordinate
	if r.engines[g] == nil && r.size(g) < r.c.N {
		search += openGroup
	}
	return r.scanCost(r.size(g), queries) < search
}
