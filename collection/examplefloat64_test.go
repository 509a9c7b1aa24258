package collection_test

import (
	"context"
	"fmt"

	"thresher/collection"
)

// Rows far from zero keep their differences, which float32 would round: the second row is nearer to the first than the third.
func ExampleBuildFloat64() {
	rows := []float64{
		1e9 + .25, 1e9,
		1e9 + .5, 1e9,
		1e9 + 1, 1e9,
	}
	c, err := collection.BuildFloat64(context.Background(), rows, 2, &collection.Options{Metric: collection.Euclidean, Basis: collection.Raw})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("changed %d values; relative to their origin, the first coordinates differ by %g and %g\n",
		c.Change.Values, c.Rows[2]-c.Rows[0], c.Rows[4]-c.Rows[0])
	// Output: changed 0 values; relative to their origin, the first coordinates differ by 0.25 and 0.75
}
