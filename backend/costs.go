package backend

import (
	"fmt"
	"math"
)

// Costs are what kinds of work take, in nanoseconds of one core, when many
// queries are answered together. Planners compare ladders by them; nothing that
// an answer promises depends on them.
type Costs struct {
	// Scan is a code of the first look at panels, for one query; Wide one of a
	// first look wider than the collection's panels, for which rows are brought
	// into panels first. Wide is 0 when the backend has no such looks.
	Scan float64 `json:"scan"`
	Wide float64 `json:"wide"`
	// Test is what a first look costs an atom and query besides its codes, List
	// what an atom costs that passes: it is noted, and tested again later.
	Test float64 `json:"test"`
	List float64 `json:"list"`
	// Visit is reaching an atom's row of codes in a later look, Code a code of
	// it.
	Visit float64 `json:"visit"`
	Code  float64 `json:"code"`
	// Sign is a coordinate of a later look at signs; reaching their row is a Visit
	// too. 0 when the backend has no such looks.
	Sign float64 `json:"sign"`
	// Far is what a byte of such rows costs besides where they are too many for the
	// caches.
	Far float64 `json:"far"`
	// Fetch is reaching an atom's float32 row, Score a coordinate of it, scored
	// in float64.
	Fetch float64 `json:"fetch"`
	Score float64 `json:"score"`
	// Dense is a coordinate of the dense path, DenseTest what an atom costs it
	// besides. DenseOne is a coordinate of it in float64, as all rows are scored
	// when a query is alone.
	Dense     float64 `json:"dense"`
	DenseTest float64 `json:"dense_test"`
	DenseOne  float64 `json:"dense_one"`
	// Gather is what an atom costs the dense path besides that and its coordinates
	// where the rows allowed are gathered, for queries that share a filter. 0 when the
	// backend reaches and scores such rows one by one, and in costs kept from before
	// there was this one.
	Gather float64 `json:"gather"`
	// Rotate is a coordinate of a query that is made ready, rotated and coded;
	// matrices that it is multiplied by cost Dense an entry. Query is what each
	// look costs a query, however many atoms there are.
	Rotate float64 `json:"turn"`
	Query  float64 `json:"query"`
}

// Cost is one figure of Costs.
type Cost struct {
	Name    string // as in JSON
	Meaning string
	Value   float64 // ns
	// Optional says that 0 is a value: the backend has no such work.
	Optional bool
}

// Table returns the figures in their order.
func (c *Costs) Table() []Cost {
	return []Cost{
		{"scan", "a code of the first look", c.Scan, false},
		{"wide", "a code of a first look wider than panels", c.Wide, true},
		{"test", "an atom at the first look, codes aside", c.Test, false},
		{"list", "an atom that passes it", c.List, false},
		{"visit", "reaching a row of codes", c.Visit, false},
		{"code", "a code of a row", c.Code, false},
		{"sign", "a coordinate of a row of signs", c.Sign, true},
		{"far", "a byte of a row that comes from memory, besides", c.Far, true},
		{"fetch", "reaching a float32 row", c.Fetch, false},
		{"score", "a coordinate scored in float64", c.Score, false},
		{"dense", "a coordinate of the dense scan", c.Dense, false},
		{"dense_test", "an atom of it, coordinates aside", c.DenseTest, false},
		{"dense_one", "a coordinate of it in float64, as for one query alone", c.DenseOne, false},
		{"gather", "an atom of it whose row is gathered, besides", c.Gather, true},
		{"turn", "a coordinate rotated and coded", c.Rotate, false},
		{"query", "a query at each look, atoms aside", c.Query, false},
	}
}

// Check reports the first figure that cannot be a cost: they are finite and
// above 0, those that may be missing at least 0.
func (c *Costs) Check() error {
	for _, x := range c.Table() {
		if math.IsNaN(x.Value) || math.IsInf(x.Value, 0) || x.Value < 0 || x.Value == 0 && !x.Optional {
			return fmt.Errorf("cost %s: %g ns", x.Name, x.Value)
		}
	}
	return nil
}

// Portable returns the costs of portable kernels, for backends that know none of
// their own.
func Portable() Costs {
	return Costs{Scan: .24, Test: 3, List: 20, Visit: 38, Code: .4, Fetch: 600, Score: .4,
		Dense: .424, DenseTest: .1, DenseOne: .475, Gather: .8, Rotate: 6.2, Query: 2400}
}
