package folder

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"thresher/collection"
	_ "thresher/internal/draws"
)

// TestEqualsOneBlock: whatever was written, deleted, sealed, merged, copied and opened again, a folder holds and answers what one
// collection of the vectors that are left does.
func TestEqualsOneBlock(t *testing.T) {
	const dim, universe = 20, 120
	b, root := newBackend(t), t.TempDir()
	rapid.Check(t, func(c *rapid.T) {
		dir, err := os.MkdirTemp(root, "")
		if err != nil {
			c.Fatal(err)
		}
		defer os.RemoveAll(dir)
		path := filepath.Join(dir, "vectors")
		metric := rapid.SampledFrom([]collection.Metric{collection.InnerProduct, collection.Cosine, collection.Euclidean}).Draw(c, "metric")
		texts := rapid.Bool().Draw(c, "texts")
		elem := rapid.SampledFrom(drawnElems).Draw(c, "elem")
		if err := Create(path, Form{Metric: metric, Dim: dim, Elem: elem, Columns: drawnFields}); err != nil {
			c.Fatal(err)
		}
		o := Options{Backend: b, SealRows: 24, ByHand: true}
		f, held := opened(c, path, o), newModel(dim)
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(c, "seed"), 0))
		for range rapid.IntRange(3, 15).Draw(c, "steps") {
			switch rapid.SampledFrom([]int{0, 0, 0, 0, 1, 1, 2, 3}).Draw(c, "step") {
			case 0:
				held.apply(c, f, drawChange(r, dim, universe, 20, texts).inType(elem))
			case 1:
				if err := f.Maintain(context.Background()); err != nil {
					c.Fatal(err)
				}
			case 2:
				closed(c, f)
				o.Verify = rapid.SampledFrom([]Verify{VerifyOnce, VerifyNow, VerifyNever}).Draw(c, "verify")
				f = opened(c, path, o)
			case 3: // goes on in a copy
				next := path + "c"
				if _, err := f.Copy(next); err != nil {
					c.Fatal(err)
				}
				if rapid.Bool().Draw(c, "written since") {
					if _, err := f.Apply(context.Background(), drawChange(r, dim, universe, 20, texts).inType(elem)); err != nil {
						c.Fatal(err)
					}
				}
				closed(c, f)
				path = next
				f = opened(c, path, o)
			}
		}
		held.check(c, f, b, texts, 1)
		beside := opened(c, path, Options{Backend: b, ReadOnly: true})
		held.check(c, beside, b, texts, 2)
		closed(c, beside)
		closed(c, f)
	})
}
