package cpu_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
	"thresher/cpu"
)

// TestLimits: as many products of codes as the backend says a look reads fit int32, whatever the codes
// are, with the query's greatest codes; and rows of every allowed width have later looks.
func TestLimits(t *testing.T) {
	limits := cpu.New(cpu.Options{Threads: 1}).Describe().Capacity
	const code = 255 // of an atom, biased
	for _, rep := range []backend.Representation{backend.Panels, backend.Mixed, backend.Signs} {
		if n := limits.Read[rep]; n < 1<<15 || int64(n)*code*looks.MaxCode8 > math.MaxInt32 {
			t.Errorf("%v: sums of %d products reach %d, int32 ends at %d", rep, n, int64(n)*code*looks.MaxCode8, math.MaxInt32)
		}
	}
	for _, rep := range []backend.Representation{backend.RowCodes, backend.Float32} {
		if !limits.Takes(rep, collection.MaxDim/2, collection.MaxDim) {
			t.Errorf("%v: at most %d of the %d coordinates that a row may have", rep, limits.Read[rep], collection.MaxDim)
		}
	}
	if limits.Takes(backend.Panels, 32, limits.Read[backend.Panels]) || !limits.Takes(backend.Panels, 32, limits.Read[backend.Panels]-32) {
		t.Error("the limit of a look does not count the head")
	}
	err := limits.CheckLook(backend.Look{Rep: backend.Panels, To: 140_000}, 32)
	if !errors.Is(err, backend.ErrRuleUnsupported) || !strings.Contains(err.Error(), "140000") || !strings.Contains(err.Error(), "65536") {
		t.Errorf("a look of 140,000: %v", err)
	}
	for _, x := range []struct {
		atoms, dim int
		want       string
	}{{collection.MaxAtoms + 1, 3, "2147483648"}, {3, collection.MaxDim + 1, "2097152"}, {collection.MaxAtoms, collection.MaxDim, ""}} {
		if err := limits.CheckSize(x.atoms, x.dim); (err == nil) != (x.want == "") || err != nil && !strings.Contains(err.Error(), x.want) {
			t.Errorf("%d x %d: %v, want %q", x.atoms, x.dim, err, x.want)
		}
	}
}
