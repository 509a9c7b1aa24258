package backend

import (
	"fmt"
	"math"
)

// Costs are the costs of the steps of a search, in nanoseconds of one core, when many
// queries are answered together. Planners compare ladders by them; no guarantee depends on
// them.
type Costs struct {
	// Scan is the cost of a code in a first look at panels, for one query. Wide is that in
	// a first look wider than the collection's panels; 0 if the backend has no such looks.
	// Transpose is what such a look takes for a code besides, once for all queries of a run: it
	// transposes rows into panels, or multiplies few queries with the rows as they are; 0 in old files
	// of costs, where Wide includes it.
	Scan      float64 `json:"scan"`
	Wide      float64 `json:"wide"`
	Transpose float64 `json:"transpose"`
	// Mixed is the cost of a code in a first look at mixed codes, those of terms included; 0 if
	// the backend has no such looks, and in old files of costs.
	Mixed float64 `json:"mixed"`
	// Lookup is the cost of a coordinate in a first look at panels of signs; 0 if the backend has no such
	// looks, and in old files of costs.
	Lookup float64 `json:"lookup"`
	// Test is the cost of a first look per atom and query, without its codes. List is the
	// additional cost of an atom that survives: it is listed, and tested again later.
	Test float64 `json:"test"`
	List float64 `json:"list"`
	// Visit is the cost of accessing an atom's row of codes in a later look, Code that of
	// each code.
	Visit float64 `json:"visit"`
	Code  float64 `json:"code"`
	// Sign is the cost of a coordinate in a later look at signs, in addition to Visit; 0 if
	// the backend has no such looks.
	Sign float64 `json:"sign"`
	// Far is the additional cost of a byte of such rows if they exceed the caches.
	Far float64 `json:"far"`
	// Fetch is the cost of accessing an atom's float32 row, Score that of each coordinate
	// of an exact score.
	Fetch float64 `json:"fetch"`
	Score float64 `json:"score"`
	// Dense is the cost of a coordinate in the dense path, DenseTest the additional cost of
	// an atom. DenseOne is the cost of a coordinate for a single query.
	Dense     float64 `json:"dense"`
	DenseTest float64 `json:"dense_test"`
	DenseOne  float64 `json:"dense_one"`
	// Gather is the additional cost of an atom in the dense path if allowed rows are
	// copied together for queries that share a filter. 0 if the backend scores such rows
	// one by one, and in old files of costs, which lack it.
	Gather float64 `json:"gather"`
	// Rotate is the cost of a query's coordinate that is rotated and coded; matrices that
	// multiply the query cost Dense per entry. Query is the cost of a look per query,
	// regardless of the number of atoms.
	Rotate float64 `json:"turn"`
	Query  float64 `json:"query"`
}

// Cost is one figure of Costs.
type Cost struct {
	Name    string // as in JSON
	Meaning string
	Value   float64 // ns
	// Optional says that 0 is valid: the backend has no such step.
	Optional bool
}

// Table returns the figures in their order.
func (c *Costs) Table() []Cost {
	return []Cost{
		{"scan", "a code of the first look", c.Scan, false},
		{"wide", "a code of a first look wider than panels", c.Wide, true},
		{"transpose", "a code transposed for it, for all queries", c.Transpose, true},
		{"mixed", "a mixed code of the first look", c.Mixed, true},
		{"lookup", "a sign of the first look", c.Lookup, true},
		{"test", "a vector at the first look, codes aside", c.Test, false},
		{"list", "a vector that passes it", c.List, false},
		{"visit", "reaching a row of codes", c.Visit, false},
		{"code", "a code of a row", c.Code, false},
		{"sign", "a coordinate of a row of signs", c.Sign, true},
		{"far", "a byte of a row that comes from memory, besides", c.Far, true},
		{"fetch", "reaching a float32 row", c.Fetch, false},
		{"score", "a coordinate scored in float64", c.Score, false},
		{"dense", "a coordinate of the dense scan", c.Dense, false},
		{"dense_test", "a vector of it, coordinates aside", c.DenseTest, false},
		{"dense_one", "a coordinate of it for one query alone", c.DenseOne, false},
		{"gather", "a vector of it whose row is gathered, besides", c.Gather, true},
		{"turn", "a coordinate rotated and coded", c.Rotate, false},
		{"query", "a query at each look, vectors aside", c.Query, false},
	}
}

// Check returns an error that names the first invalid cost: costs are finite and above 0;
// optional ones may be 0.
func (c *Costs) Check() error {
	for _, x := range c.Table() {
		if math.IsNaN(x.Value) || math.IsInf(x.Value, 0) || x.Value < 0 || x.Value == 0 && !x.Optional {
			return fmt.Errorf("cost %s: %g ns", x.Name, x.Value)
		}
	}
	return nil
}

// Portable returns the costs of the CPU backend's portable kernels, which stand for backends
// without costs of their own.
func Portable() Costs {
	return Costs{Scan: .24, Test: 3, List: 20, Visit: 38, Code: .4, Fetch: 600, Score: .4,
		Dense: .424, DenseTest: .1, DenseOne: .475, Gather: .8, Rotate: 6.2, Query: 2400}
}
