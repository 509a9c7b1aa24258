//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"thresher/batch"
	"thresher/collection"
	"thresher/gpu/device"
	"thresher/internal/vectors"
)

// idleResults are what searches find on an idle device: the states of queries after each look, whose lists are
// empty after the last.
type idleResults struct {
	m, k   int
	after  [][]query
	memory *device.Buffer[uint8] // of the batches, which the pool keeps
	states int                   // offset of the states there
}

// newIdleResults puts results for batches of m queries, for the k best of c, where the batches will find
// them: into the memory that the pool holds for them. staged is nil if the batches are too small to be staged.
func newIdleResults(t *device.Thread, r *resident, m, k, looks int, staged *stagedQueries) (*idleResults, error) {
	b, err := newQueryBatch(t, r, m, k, true, staged)
	if err != nil {
		return nil, err
	}
	x := &idleResults{m: m, k: k, memory: b.mem, states: int(b.at.states)}
	reports, scores, rows := make([]report, m), make([]float64, m*k), make([]uint32, m*k)
	for j := range m {
		reports[j] = report{uint32(r.c.N), 400}
		for i := range k {
			scores[j*k+i], rows[j*k+i] = float64(k-i)/16, uint32((j*k+i*7)%r.c.N)
		}
	}
	for i := range looks {
		states := make([]query, m)
		for j := range states {
			states[j] = query{tau: 1. / 16, floor: math.Inf(-1), ceiling: math.Inf(1), norm: 1, square: 1, unit: 1, k: uint32(k), best: uint32(k), exp: 3,
				flags: flagScanned, allowed: uint32(r.c.N), rows: 60, open: math.Inf(-1), pulls: 1e6, bytes: 1e6}
			if i+1 < looks {
				states[j].listed, states[j].open = 400, 1
			}
		}
		x.after = append(x.after, states)
	}
	for _, part := range []struct {
		at   int
		data []byte
	}{{int(b.at.reports), bytesOfSlice(reports)}, {int(b.at.bestScore), bytesOfSlice(scores)}, {int(b.at.bestRow), bytesOfSlice(rows)}} {
		if err := b.mem.Upload(t, part.at, part.data); err != nil {
			return nil, err
		}
	}
	return x, b.freeMemory(t)
}

// openIdle opens an engine for c on the idle device, and returns its machine.
func openIdle(b *testing.B, c *collection.Collection) (*batch.Engine, *machine) {
	card := open(b, Options{}).(*Backend)
	b.Cleanup(func() { shut(b, "backend", card.Close) })
	e, err := batch.Open(b.Context(), c, card, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { shut(b, "engine", e.Close) })
	return e, card.machines[0]
}

// BenchmarkHostOfOne measures the work of the host for one query that a look decides, on the same device, with CUDA graphs and
// with a call for each kernel, search by search in turn: medians in us, of enqueuing and of all but the waits. As the driver's calls
// take no time, it shows what recognizing a repetition costs, not what it saves.
func BenchmarkHostOfOne(b *testing.B) {
	if testMachine(b, Options{}).d.Info().Name != "idle" {
		b.Skip("needs the driver of testdata/idle.c: make bench-host")
	}
	const dim, k = 768, 10
	rng := vectors.Rand(47)
	c, err := collection.Build(b.Context(), vectors.PowerLaw(rng, 2048, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
	if err != nil {
		b.Fatal(err)
	}
	queries := vectors.PowerLaw(rng, 64, dim)
	e, m := openIdle(b, c)
	watch := newStopwatch()
	if err := m.d.Do(b.Context(), func(t *device.Thread) error {
		idle, err := newIdleResults(t, &resident{m: m, c: c}, 1, k, 1, nil)
		if err != nil {
			return err
		}
		return idle.memory.Upload(t, idle.states, bytesOfSlice(idle.after[0]))
	}); err != nil {
		b.Fatal(err)
	}
	m.onPhase = watch.begin
	names := [2]string{"singly", "graphs"}
	var enqueue, host [2][]float64 // us
	i := 0
	for b.Loop() {
		which := i % 2
		m.graphQueries = which * graphQueries
		at := i / 2 % 64 * dim
		i++
		clear(watch.spent)
		watch.begin(phaseCheck)
		resp, err := e.Search(b.Context(), batch.Request{Queries: queries[at : at+dim], K: k, Method: batch.Adaptive, Plan: "64,whole,rescore"})
		watch.end()
		if err != nil {
			b.Fatal(err)
		}
		if a := resp.Answers[0]; len(a.IDs) != k || len(a.Certificate.Looks) != 1 {
			b.Fatalf("%+v", a)
		}
		sum := 0.
		for _, p := range hostPhases {
			if p != phaseWait {
				sum += watch.spent[p].Seconds() * 1e6
			}
		}
		enqueue[which], host[which] = append(enqueue[which], watch.spent[phaseEnqueue].Seconds()*1e6), append(host[which], sum)
	}
	for which, name := range names {
		for what, all := range map[string][]float64{"enqueue": enqueue[which], "host": host[which]} {
			if slices.Sort(all); len(all) > 0 {
				b.ReportMetric(all[len(all)/2], name+"-"+what+"-us")
			}
		}
	}
}

// BenchmarkHost measures the work of the host for a batch, on a device that takes no time
// (testdata/idle.c), by phase, in medians. host-ms is all but the waits, in which the downloads are carried
// out; ns/op also includes what the benchmark does itself, and collections of garbage.
func BenchmarkHost(b *testing.B) {
	m := testMachine(b, Options{})
	if m.d.Info().Name != "idle" {
		b.Skip("needs the driver of testdata/idle.c: make bench-host")
	}
	const queries, k = 1024, 10
	for _, dim := range []int{768, 4096} {
		rng := vectors.Rand(43)
		c, err := collection.Build(b.Context(), vectors.PowerLaw(rng, 2048, dim), dim, &collection.Options{Metric: collection.InnerProduct, Seed: 1})
		if err != nil {
			b.Fatal(err)
		}
		sets := [2][]float32{vectors.PowerLaw(rng, queries, dim), vectors.PowerLaw(rng, queries, dim)}
		for _, looks := range []int{1, 2} { // after which all queries are decided
			b.Run(fmt.Sprintf("m=%d/d=%d/looks=%d", queries, dim, looks), func(b *testing.B) {
				e, m := openIdle(b, c)
				watch := newStopwatch()
				var idle *idleResults
				err := m.d.Do(b.Context(), func(t *device.Thread) (err error) {
					idle, err = newIdleResults(t, &resident{m: m, c: c}, queries, k, looks, &stagedQueries{})
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
				look := 0
				m.onPhase = watch.begin
				m.onLaunch = func(q *queue, kernel string) error {
					switch {
					case kernel == "query_load":
						look = 0
					case kernel != "look_begin":
						return nil
					}
					return watch.aside(func() error {
						at := min(look/2, looks-1) // called before and after the launch
						if kernel == "look_begin" {
							look++
						}
						return idle.memory.Upload(q.t, idle.states, bytesOfSlice(idle.after[at]))
					})
				}
				b.ReportAllocs()
				times := map[hostPhase][]float64{} // ms, by batch
				i := 0
				for b.Loop() {
					req := batch.Request{Queries: sets[i%len(sets)], K: k, Method: batch.Adaptive, Plan: "64,whole,rescore"}
					i++
					clear(watch.spent)
					watch.begin(phaseCheck)
					resp, err := e.Search(b.Context(), req)
					watch.end()
					if err != nil {
						b.Fatal(err)
					}
					if a := resp.Answers[i%queries]; len(a.IDs) != k || a.Scores[0] != 8*k/16. || len(a.Certificate.Looks) != looks {
						b.Fatalf("query %d: %+v", i%queries, a)
					}
					host := 0.
					for _, p := range hostPhases {
						took := watch.spent[p].Seconds() * 1e3
						times[p] = append(times[p], took)
						if p != phaseWait {
							host += took
						}
					}
					times["host"] = append(times["host"], host)
				}
				for p, all := range times {
					slices.Sort(all)
					b.ReportMetric(all[len(all)/2], string(p)+"-ms")
				}
			})
		}
	}
}
