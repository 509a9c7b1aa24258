package join

import (
	"fmt"

	"thresher/collection"
)

// sameNorms is by what factor norms of normalised vectors can differ when their coordinates
// were rounded, to float16 at most: twice 2^-11, and as much for the sums.
const sameNorms = 1 + 0x1p-9

// LikenessWarning returns a sentence if a join of the atoms of c by its metric does not find what
// is alike: by inner products of vectors of different norms, long vectors are near to all. It
// returns "" otherwise. It reads rows until two norms differ by more than rounding; vectors that
// are zero have product and cosine 0.
func LikenessWarning(c *collection.Collection) string {
	if c.Metric != collection.InnerProduct {
		return ""
	}
	short, long := -1, -1 // the rows of the least and greatest norm so far
	var least, greatest float64
	for i := range c.N {
		n := collection.Norm(c.Row(i))
		if n == 0 {
			continue
		}
		if short < 0 || n < least {
			short, least = i, n
		}
		if long < 0 || n > greatest {
			long, greatest = i, n
		}
		if greatest > least*sameNorms {
			return fmt.Sprintf("metric ip compares vectors of different norms (row %d has %.4g, row %d %.4g), and long ones have large products with all: "+
				"what is alike has a large cosine (cosine) or a small distance (l2)", short, least, long, greatest)
		}
	}
	return ""
}
