//go:build cuda && cgo

package gpu

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"thresher/backend"
	"thresher/backend/looks"
	"thresher/collection"
)

// shards is a collection distributed over devices. Each holds a range of the internal order with
// its rows, and searches it as a collection of its own. Thresholds are not shared.
type shards struct {
	c   *collection.Collection
	all []shard
}

// shard is atoms lo to hi-1 on one device. Its rows keep the collection's order, so that of equal
// scores the lower row comes first in both.
type shard struct {
	*resident
	lo, hi int
	number []uint32 // the collection's number of each row
}

// loadShards copies c to several machines, whole strips to each; to the first ones if there are fewer strips.
// If it fails, failed has the error, or nil, of each machine that got a part.
func loadShards(ctx context.Context, machines []*machine, c *collection.Collection) (r backend.Resident, failed []error, err error) {
	strips := (c.N + looks.StripAtoms - 1) / looks.StripAtoms
	n := min(len(machines), strips)
	if n == 1 {
		r, err := loadResident(ctx, machines[0], c)
		if err != nil {
			return nil, []error{err}, err
		}
		return r, nil, nil
	}
	failed = make([]error, n)
	s := &shards{c: c, all: make([]shard, n)}
	err = concurrently(n, func(k int) (err error) {
		defer func() { failed[k] = err }()
		p := &s.all[k]
		p.lo, p.hi = strips*k/n*looks.StripAtoms, min(strips*(k+1)/n*looks.StripAtoms, c.N)
		part, number := shardOf(c, p.lo, p.hi)
		p.number = number
		p.resident, err = loadResident(ctx, machines[k], part)
		if err == nil {
			p.c.SetRows(nil) // they are on the device
			p.whole, p.first = c, p.lo
		}
		return err
	})
	if err != nil {
		return nil, failed, errors.Join(err, s.Close())
	}
	return s, nil, nil
}

// concurrently calls f for 0 to n-1 concurrently, waits, and joins the errors.
func concurrently(n int, f func(k int) error) error {
	errs := make([]error, n)
	var wg sync.WaitGroup
	for k := range n {
		wg.Go(func() { errs[k] = f(k) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// shardOf returns atoms lo to hi-1 of c as a collection, and the number in c of each of its rows,
// ascending. lo must be the first atom of a strip. The result shares everything but the rows with c.
func shardOf(c *collection.Collection, lo, hi int) (*collection.Collection, []uint32) {
	s, number := *c, slices.Clone(c.Order[lo:hi])
	slices.Sort(number)
	s.N = hi - lo
	rows := make([]float32, s.N*c.Dim)
	s.Order, s.RowSquares = make([]uint32, s.N), nil
	if c.RowSquares != nil {
		s.RowSquares = make([]float64, s.N)
	}
	for i, row := range c.Order[lo:hi] {
		at, _ := slices.BinarySearch(number, row)
		s.Order[i] = uint32(at)
	}
	for at, row := range number {
		c.Read(rows[at*c.Dim:(at+1)*c.Dim], int(row)*c.Dim)
		if c.RowSquares != nil {
			s.RowSquares[at] = c.RowSquares[row]
		}
	}
	s.SetRows(rows)
	of := func(x []float32) []float32 {
		if x == nil {
			return nil
		}
		return x[lo:hi]
	}
	s.Norm, s.Offset, s.HeadScale, s.HeadNorm, s.HeadErr, s.RowScale = of(c.Norm), of(c.Offset), of(c.HeadScale), of(c.HeadNorm), of(c.HeadErr), of(c.RowScale)
	if !c.Coded() {
		return &s, number
	}
	s.NormCaps, s.NormFloors = c.NormCaps[lo/collection.PanelAtoms:], nil // which no device reads
	s.Stages = slices.Clone(c.Stages)
	for k := range s.Stages {
		l := &s.Stages[k]
		l.Scale, l.Radius, l.XNorm, l.Beyond = of(l.Scale), of(l.Radius), of(l.XNorm), of(l.Beyond)
		l.Rows = l.Rows[min(lo*l.Stride, len(l.Rows)):min(hi*l.Stride, len(l.Rows))]
	}
	s.Codes, s.Panels = c.Codes[lo*(c.R+c.D):hi*(c.R+c.D)], nil
	return &s, number
}

// goal returns g for the shard's atoms; filters caches the shard's filters by c's.
func (sh *shard) goal(g backend.Goal, filters map[*backend.Filter]*backend.Filter) backend.Goal {
	if f := g.Filter; f != nil {
		if filters[f] == nil {
			filters[f] = backend.NewFilter(sh.c.Order, f.Bits()[sh.lo/64:(sh.hi+63)/64])
		}
		g.Filter = filters[f]
	}
	g.Exclude, g.Candidates = sh.listed(g.Exclude), sh.listed(g.Candidates)
	g.From = max(0, min(g.From, sh.hi)-sh.lo)
	all := hostQuery{goal: &g, hidden: g.Exclude}
	g.Allowed = all.shown(0, sh.hi-sh.lo)
	return g
}

// listed returns the shard's atoms of an ascending list, by their indexes in the shard.
func (sh *shard) listed(atoms []uint32) []uint32 {
	atoms = within(atoms, sh.lo, sh.hi)
	if sh.lo == 0 || len(atoms) == 0 {
		return atoms
	}
	own := make([]uint32, len(atoms))
	for k, i := range atoms {
		own[k] = i - uint32(sh.lo)
	}
	return own
}

// Begin starts a run on every device.
func (s *shards) Begin(ctx context.Context, q backend.Queries, goals []backend.Goal) (backend.Run, error) {
	if len(goals) != q.M {
		return nil, fmt.Errorf("%d goals for %d queries", len(goals), q.M)
	}
	x := &shardRun{s: s, goals: goals, runs: make([]*run, len(s.all))}
	err := concurrently(len(s.all), func(k int) error {
		its, filters := make([]backend.Goal, len(goals)), map[*backend.Filter]*backend.Filter{}
		for j, g := range goals {
			its[j] = s.all[k].goal(g, filters)
		}
		r, err := s.all[k].Begin(ctx, q, its)
		if err == nil {
			x.runs[k] = r.(*run)
		}
		return err
	})
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Close frees the copies on the devices.
func (s *shards) Close() error {
	return concurrently(len(s.all), func(k int) error {
		if s.all[k].resident == nil {
			return nil
		}
		return s.all[k].Close()
	})
}

// shardRun is a run on every device.
type shardRun struct {
	s     *shards
	goals []backend.Goal
	runs  []*run
}

func (x *shardRun) eachRun(f func(k int, r *run) error) error {
	return concurrently(len(x.runs), func(k int) error { return f(k, x.runs[k]) })
}

// Pull takes the look on every device.
func (x *shardRun) Pull(ctx context.Context, l backend.Look) (backend.Survivors, error) {
	all := make([]backend.Survivors, len(x.runs))
	err := x.eachRun(func(k int, r *run) (err error) {
		all[k], err = r.Pull(ctx, l)
		return err
	})
	left := make(backend.Survivors, len(x.goals))
	for _, one := range all {
		for j, n := range one { // nil for a device that failed
			left[j] += n
		}
	}
	return left, err
}

// Floor raises the floors on every device.
func (x *shardRun) Floor(ctx context.Context, floors []float64) error {
	return x.eachRun(func(_ int, r *run) error { return r.Floor(ctx, floors) })
}

// Dense scores all allowed atoms for these queries on every device.
func (x *shardRun) Dense(ctx context.Context, queries ...int) error {
	return x.eachRun(func(_ int, r *run) error { return r.Dense(ctx, queries...) })
}

// Finish merges the devices' answers by exact score.
func (x *shardRun) Finish(ctx context.Context) (backend.Answers, error) {
	all := make([]backend.Answers, len(x.runs))
	err := x.eachRun(func(k int, r *run) (err error) {
		all[k], err = r.Finish(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(backend.Answers, len(x.goals))
	for j := range out {
		out[j] = x.merge(j, j, all)
	}
	return out, nil
}

// Leave merges the devices' answers for queries that leave.
func (x *shardRun) Leave(ctx context.Context, queries ...int) (backend.Answers, error) {
	all := make([]backend.Answers, len(x.runs))
	err := x.eachRun(func(k int, r *run) (err error) {
		all[k], err = r.Leave(ctx, queries...)
		return err
	})
	if err != nil {
		return nil, err
	}
	out := make(backend.Answers, len(queries))
	for i, j := range queries {
		out[i] = x.merge(j, i, all)
	}
	return out, nil
}

// merge returns the answer to query j, which is the i-th answer of each device. It is empty if
// theirs are, for a query that has left.
func (x *shardRun) merge(j, i int, all []backend.Answers) backend.Answer {
	type found struct {
		id    int64
		score float64
	}
	var best []found
	out := backend.Answer{Tau: math.Inf(-1), OpenBound: math.Inf(-1), Dense: true}
	for k, answers := range all {
		a, p := &answers[i], &x.s.all[k]
		for e, id := range a.IDs {
			best = append(best, found{int64(p.number[id]), a.Scores[e]})
		}
		out.Looks = addLooks(out.Looks, a.Looks)
		out.Pulls, out.Bytes, out.RowsScored = out.Pulls+a.Pulls, out.Bytes+a.Bytes, out.RowsScored+a.RowsScored
		out.Tau, out.OpenBound = max(out.Tau, a.Tau), max(out.OpenBound, a.OpenBound)
		out.Random, out.Dense = out.Random || a.Random, out.Dense && a.Dense
	}
	slices.SortFunc(best, func(a, b found) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.id, b.id))
	})
	if g := &x.goals[j]; g.K > 0 && len(best) >= g.K {
		best = best[:g.K]
		out.Tau = max(out.Tau, best[g.K-1].score+g.Epsilon)
	}
	if out.OpenBound < out.Tau { // the open arms of one device cannot be among the best of all
		out.OpenBound = math.Inf(-1)
	}
	for _, b := range best {
		out.IDs, out.Scores = append(out.IDs, b.id), append(out.Scores, b.score)
	}
	return out
}

// addLooks adds one device's look reports to those of others; a device may have taken fewer looks.
func addLooks(sum, more []backend.LookReport) []backend.LookReport {
	for i, l := range more {
		if i < len(sum) && sum[i].Look == l.Look {
			sum[i].Seen, sum[i].Disallowed, sum[i].Survivors = sum[i].Seen+l.Seen, sum[i].Disallowed+l.Disallowed, sum[i].Survivors+l.Survivors
		} else if i >= len(sum) {
			sum = append(sum, l)
		}
	}
	return sum
}

// Close releases the run's memory on every device.
func (x *shardRun) Close() error {
	return x.eachRun(func(_ int, r *run) error {
		if r == nil {
			return nil
		}
		return r.Close()
	})
}
