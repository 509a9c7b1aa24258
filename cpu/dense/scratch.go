package dense

import (
	"thresher/cpu/topk"
)

// tests is a goroutine's memory for the dense path. The arrays have an entry for each
// query of the pass.
type tests struct {
	query, panels []float32 // the queries, as rows and packed for Gemm
	packed, width int       // how many are packed, the first ones, and with padding
	gathered      []float32 // coordinates of a tile's rows, if copied
	scale         []float32 // terms of a tile's rows, if copied
	size, offset  []float32
	dots          []float32 // products of a tile, [rows][packed queries], or [queries][rows] if none is
	fewDots       []float32 // products with the queries that are not packed, if others are, [queries][rows]
	masks         []uint64  // for each row of a tile the queries whose threshold it may reach
	lowerBounds   []float64

	margin     [maxQueries]float32       // bound of the float32 error relative to a row's size
	factor     [maxQueries]float32       // factor of offsets
	share      [maxQueries]float64       // bound of the error relative to the product
	tau        [maxQueries]float32       // of rows that are read
	reach      [maxQueries]float32       // of pending rows, which come before those with equal bounds that are read later
	sharp      [maxQueries]bool          // rows that are read must exceed the threshold, not only reach it
	shift      [maxQueries]float64       // query.shift
	allAllowed [maxQueries]bool          // every row that is read may be returned
	hiddenAt   [maxQueries]int           // of hiddenRows, those before which rows were asked for
	plain      bool                      // allAllowed for every query, and none has a ceiling
	pending    [maxQueries]topk.Entries  // rows that passed the test and are not yet scored, by number
	left       [maxQueries]int           // pending rows when the threshold was last tightened
	tops       [maxQueries]topk.Best     // of rows scored before the end of the range
	found      [maxQueries][]topk.Scored // rows scored at its end
	scored     [maxQueries]int           // rows scored in float64 after the test
}
