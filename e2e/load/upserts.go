//go:build linux

package main

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

// upsertsOptions say how many rows are written, and to what.
type upsertsOptions struct {
	upserts, each, rows, dim, writers int
	seed                              uint64
}

func prepareUpserts(fs *flag.FlagSet) func(context.Context, *run) error {
	var o upsertsOptions
	fs.IntVar(&o.upserts, "upserts", 1_000_000, "rows that are written, each under an id of those there or of as many new ones")
	fs.IntVar(&o.each, "each", 10, "rows a request")
	fs.IntVar(&o.rows, "rows", 20_000, "rows of the collection at first")
	fs.IntVar(&o.dim, "dim", 64, "dimensions")
	fs.IntVar(&o.writers, "writers", 8, "clients that write")
	fs.Uint64Var(&o.seed, "seed", 1, "of the rows and queries")
	return func(ctx context.Context, r *run) error { return r.upserts(ctx, &o) }
}

// grown is the most that the memory in the last quarter of the writes may be of that in the first half.
const grown = 1.25

// upserting is a collection that clients write to and search meanwhile.
type upserting struct {
	o    *upsertsOptions
	s    *server
	held *matrix // what was acknowledged, by id
	has  []bool

	mu      sync.Mutex
	done    int
	sampled []int64 // resident memory after each twentieth of the writes
}

// upserts writes rows to a collection that changes by rows while others search it. Its memory has to stay flat, and in the end it has to hold the
// last row that was acknowledged of each id.
func (r *run) upserts(ctx context.Context, o *upsertsOptions) error {
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	s, err := r.start(ctx, filepath.Join(r.folder, "data"), addr, "--log-level", "warn")
	if err != nil {
		return err
	}
	defer s.kill()
	first := gaussian(o.rows, o.dim, o.seed)
	got, err := s.call(ctx, "PUT", "/v1/collections/rows?metric=ip&wait=true", first.body(""))
	if err == nil {
		err = got.into(nil, 201)
	}
	if err != nil {
		return err
	}
	u := &upserting{o: o, s: s, held: &matrix{o.dim, slices.Concat(first.data, make([]float32, len(first.data)))}, has: make([]bool, 2*o.rows)}
	for id := range o.rows {
		u.has[id] = true
	}
	began := time.Now()
	searches, err := u.writeAndSearch(ctx)
	if err != nil {
		return fmt.Errorf("%w; log: %s", err, s.log)
	}
	took := time.Since(began)
	if err := u.compare(ctx); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	return u.report(r, took, searches)
}

// writeAndSearch writes all rows, and searches until that is done.
func (u *upserting) writeAndSearch(ctx context.Context) (searches int, err error) {
	writing, stop := context.WithCancel(ctx)
	defer stop()
	var writers errgroup.Group
	for w := range u.o.writers {
		writers.Go(func() error { return u.write(ctx, w) })
	}
	var searcher errgroup.Group
	searcher.Go(func() error {
		for ; writing.Err() == nil; searches++ {
			_, results, err := u.s.search(ctx, "rows", gaussian(1, u.o.dim, uint64(searches)), 10)
			if err != nil {
				return err
			}
			if len(results) != 1 || len(results[0].IDs) != 10 {
				return fmt.Errorf("a search for 10 is answered with %+v", results)
			}
		}
		return nil
	})
	err = writers.Wait()
	stop()
	return searches, cmp.Or(err, searcher.Wait())
}

// write writes the rows of one client, whose ids no other writes.
func (u *upserting) write(ctx context.Context, w int) error {
	r := rand.New(rand.NewPCG(u.o.seed, uint64(w)+2))
	own := (2*u.o.rows - w + u.o.writers - 1) / u.o.writers
	for range u.o.upserts / u.o.each / u.o.writers {
		m := gaussian(u.o.each, u.o.dim, r.Uint64())
		at, ids, vectors := r.IntN(own), make([]int, u.o.each), make([][]float32, u.o.each)
		for i := range ids {
			ids[i], vectors[i] = (at+i)%own*u.o.writers+w, m.row(i)
		}
		got, err := u.s.call(ctx, "PUT", "/v1/collections/rows/rows", jsonBody(map[string]any{"source": map[string]any{"vectors": vectors, "ids": ids}}, ""))
		if err == nil {
			err = got.into(nil, 200)
		}
		if err != nil {
			return err
		}
		for i, id := range ids {
			copy(u.held.row(id), vectors[i])
			u.has[id] = true
		}
		if err := u.count(u.o.each); err != nil {
			return err
		}
	}
	return nil
}

// count counts rows that are acknowledged, and samples the server's memory after each twentieth of all.
func (u *upserting) count(n int) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	const samples = 20
	if u.done += n; u.done*samples < (len(u.sampled)+1)*u.o.upserts {
		return nil
	}
	now, _, err := memory(u.s.pid())
	u.sampled = append(u.sampled, now)
	return err
}

// compare searches for what was acknowledged.
func (u *upserting) compare(ctx context.Context) error {
	rows, ids := &matrix{dim: u.o.dim}, []int64{}
	for id, has := range u.has {
		if has {
			rows.data, ids = append(rows.data, u.held.row(id)...), append(ids, int64(id))
		}
	}
	var info collectionInfo
	if err := u.s.get(ctx, "/v1/collections/rows", &info); err != nil {
		return err
	}
	if info.Count != int64(len(ids)) {
		return fmt.Errorf("%d rows, and %d were acknowledged", info.Count, len(ids))
	}
	queries := gaussian(20, u.o.dim, u.o.seed+100)
	_, results, err := u.s.search(ctx, "rows", queries, 10)
	if err != nil {
		return err
	}
	for i, result := range results {
		if top := best(rows, ids, queries.row(i), 10); !slices.Equal(top, result.IDs) {
			return fmt.Errorf("query %d finds %v, which should be %v", i, result.IDs, top)
		}
	}
	return nil
}

// report writes the page, and fails if the memory has grown.
func (u *upserting) report(r *run, took time.Duration, searches int) error {
	p := newPage(r, "upserts")
	p.machine()
	p.printf("%d rows of %d dimensions were written in requests of %d by %d clients to a collection of %d at first, with %d searches beside them, in %v. In the end each id had the row that was acknowledged last.\n",
		u.o.upserts, u.o.dim, u.o.each, u.o.writers, u.o.rows, searches, took.Round(time.Second))
	p.row("of the rows", "resident memory, MiB")
	n := len(u.sampled)
	for i, now := range u.sampled {
		p.row(fmt.Sprintf("%d%%", 100*(i+1)/n), fmt.Sprintf("%.0f", mib(now)))
	}
	early, late := slices.Max(u.sampled[:n/2]), slices.Max(u.sampled[n-n/4:])
	p.later("The most in the last quarter is %.2f of the most in the first half; it may be %.2f.", float64(late)/float64(early), grown)
	if err := p.end(); err != nil {
		return err
	}
	if float64(late) > grown*float64(early) {
		return fmt.Errorf("the server's memory has grown: %.0f MiB in the first half of the writes, %.0f MiB in the last quarter", mib(early), mib(late))
	}
	return nil
}
