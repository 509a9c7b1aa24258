package slate

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// scratchScene returns n items of few topics without limits.
func scratchScene(t testing.TB, n, length int) *Constraint {
	t.Helper()
	r := rand.New(rand.NewPCG(uint64(n), 7))
	const d = 4
	vectors := make([]float64, n*d)
	for i := range vectors {
		vectors[i] = .02 * r.Float64()
	}
	o, err := NewCoverage(n, d, vectors)
	if err != nil {
		t.Fatal(err)
	}
	it, err := NewItems(o, Attributes{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := it.Constrain(Limits{Length: length})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// taken returns the bytes that f allocates.
func taken(f func()) int64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc)
}

// Scratch bounds the allocations of a call, closely.
func TestScratch(t *testing.T) {
	user := someUser(t, 4)
	for _, a := range []Algorithm{AFSM, LSBGreedy, ModifiedGreedy, BetterGreedy, Random} {
		for _, length := range []int{1, 30, 0} {
			c := scratchScene(t, 400, length)
			var err error
			got := taken(func() { _, err = Recommend(c, user, Options{Algorithm: a, Memory: c.Scratch(a)}) })
			if err != nil {
				t.Fatal(err)
			}
			const apart = 1 << 16 // small things
			if most := c.Scratch(a); got > most+apart {
				t.Errorf("%s, length %d: %d bytes are allocated, Scratch says %d", a, length, got, most)
			} else if a == AFSM && length == 0 && got < most/2 {
				t.Errorf("%s, length %d: %d bytes are allocated, Scratch says %d, far more", a, length, got, most)
			}
		}
	}
}

func someUser(t testing.TB, d int) *Estimator {
	t.Helper()
	user, err := NewEstimator(d, 1)
	if err != nil {
		t.Fatal(err)
	}
	x, y := make([]float64, 3*d), []float64{1, 0, 1}
	for i := range x {
		x[i] = float64(i%5) / 5
	}
	if err := user.Update(x, y); err != nil {
		t.Fatal(err)
	}
	return user
}

// A call that would exceed its memory fails before allocating: here four gigabytes, and
// far more than could exist.
func TestScratchRefused(t *testing.T) {
	const memory = 1 << 30
	c, user := scratchScene(t, 20_000, 0), someUser(t, 4)
	if need := c.Scratch(AFSM); need < 4e9 || need > 5e9 {
		t.Fatalf("%d bytes", need)
	}
	many, err := NewMany(c.Items(), ManyOptions{Workers: 3})
	if err != nil {
		t.Fatal(err)
	}
	plan := map[string]func(Options) error{
		"alone": func(o Options) error { _, err := Recommend(c, user, o); return err },
		"known": func(o Options) error { _, err := NewPlanner(c).Known([]float64{1, 1, 1, 1}, o); return err },
		"many": func(o Options) error {
			_, err := many.Recommend(context.Background(), c, []*Estimator{user}, o)
			return err
		},
	}
	for name, run := range plan {
		o := Options{Memory: memory}
		if name == "many" {
			o.Memory = 1 << 20 // which takes less
		}
		var err error
		got := taken(func() { err = run(o) })
		var scratch *ScratchError
		if !errors.As(err, &scratch) || scratch.Memory != o.Memory || scratch.Need <= o.Memory || scratch.Items != 20_000 || scratch.Length != 20_000 {
			t.Errorf("%s: %v", name, err)
		}
		if got > 8<<20 {
			t.Errorf("%s: %d bytes were allocated to refuse it", name, got)
		}
	}
	if _, err := Recommend(c, user, Options{Memory: -1}); err == nil {
		t.Error("a negative memory is taken")
	}
	huge := &Constraint{length: math.MaxInt32, available: math.MaxInt32}
	if huge.Scratch(AFSM) != math.MaxInt64 {
		t.Error(huge.Scratch(AFSM))
	}
}

// With little memory a Many plans fewer users at once, and makes the same slates.
func TestBatchInLittleMemory(t *testing.T) {
	c := scratchScene(t, 300, 6)
	var users []*Estimator
	r := rand.New(rand.NewPCG(3, 4))
	for range 150 {
		user := someUser(t, 4)
		x := []float64{r.Float64(), r.Float64(), r.Float64(), r.Float64()}
		if err := user.Update(x, []float64{r.Float64()}); err != nil {
			t.Fatal(err)
		}
		users = append(users, user)
	}
	many, err := NewMany(c.Items(), ManyOptions{Workers: 4})
	if err != nil {
		t.Fatal(err)
	}
	want, err := many.Recommend(context.Background(), c, users, Options{})
	if err != nil {
		t.Fatal(err)
	}
	p := &plan{many: many, c: c, users: users}
	if p.options, err = (Options{}).filled(); err != nil {
		t.Fatal(err)
	}
	if err := p.prepare(); err != nil {
		t.Fatal(err)
	}
	fixed, each := p.blockBytes()
	for _, together := range []float64{1, 5, 80} {
		o := Options{Memory: bytesOf(2 * (fixed + together*each))}
		p.options.Memory = o.Memory
		workers, n, err := p.share(4)
		if err != nil || float64(workers)*(fixed+float64(n)*each) > float64(o.Memory)/2+1 || n < 1 || n > blockUsers {
			t.Errorf("%d workers of %d users, %v", workers, n, err)
		}
		got, err := many.Recommend(context.Background(), c, users, o)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(Slate{}, "Evaluations")); diff != "" {
			t.Errorf("memory for %g users (-all, +little)\n%s", together, diff)
		}
	}
}
