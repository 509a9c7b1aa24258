//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// crashOptions say how often, and after how long at most, a server is killed.
type crashOptions struct {
	crashes  int
	longest  time.Duration
	restores int
	seed     uint64
	// upgrades is how many copies of a folder of an earlier program are opened, before the program
	// that writes the folder, and pack the file that it is packed to; "" for the packed folder of this
	// package, and for none.
	upgrades     int
	before, pack string
}

func prepareCrash(fs *flag.FlagSet) func(context.Context, *run) error {
	var o crashOptions
	fs.IntVar(&o.crashes, "crashes", 50, "how often the server is killed")
	fs.DurationVar(&o.longest, "longest", 700*time.Millisecond, "how long it may work until then")
	fs.IntVar(&o.restores, "restores", 1, "how often a folder is damaged in every way and started again")
	fs.IntVar(&o.upgrades, "upgrades", 4, "how many copies of a folder of an earlier program are opened by servers that are killed while they start")
	fs.StringVar(&o.before, "before", "", "earlier `program` that writes that folder; without it one of commit 0f538cbe is taken, which is in this program")
	fs.StringVar(&o.pack, "pack", "", "`file` to pack that folder to")
	fs.Uint64Var(&o.seed, "seed", 1, "of the instants and of what is written")
	return func(ctx context.Context, r *run) error { return r.crash(ctx, &o) }
}

// writer changes state of a server, step by step, and records what was acknowledged. A step
// without an answer is repeated with the same idempotency key until it is answered.
type writer interface {
	// prepare sets up the server before the first kill.
	prepare(context.Context, *api) error
	// step makes one change.
	step(context.Context, *api) error
	// check compares the server with what was acknowledged, while nothing is written.
	// Unacknowledged changes must be there completely or not at all.
	check(context.Context, *api) error
	// finish completes all steps, compares the result and deletes it.
	finish(context.Context, *api) error
	// done counts acknowledged steps, by name.
	done() map[string]int
}

// crashFlags make batches end many chunks, and every server choose the same plans.
func crashFlags() []string {
	return []string{"--costs", "builtin", "--batches-chunk", "16", "--batches-concurrency", "2"}
}

// crash kills a server repeatedly while writers write.
func (r *run) crash(ctx context.Context, o *crashOptions) error {
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	c := &crash{run: r, addr: addr, dir: filepath.Join(r.folder, "data"), r: rand.New(rand.NewPCG(o.seed, 1)), o: o}
	upgraded, err := c.upgrades(ctx)
	if err != nil {
		return err
	}
	c.writers = []writer{newShelf("first", o.seed), newShelf("second", o.seed+1), newFiles(o.seed), newBatches(o.seed),
		newContest("keyed", true, o.seed), newContest("leased", false, o.seed+1)}
	began := time.Now()
	for i := range o.crashes {
		if err := c.cycle(ctx, i == 0); err != nil {
			return fmt.Errorf("crash %d of %d, seed %d: %w", i+1, o.crashes, o.seed, err)
		}
	}
	if err := c.end(ctx); err != nil {
		return fmt.Errorf("after %d crashes, seed %d: %w", o.crashes, o.seed, err)
	}
	took := time.Since(began)
	drill, err := c.restores(ctx, o.restores)
	if err != nil {
		return err
	}
	return c.report(took, drill, upgraded)
}

// crash is a server that is killed, with what is known about it.
type crash struct {
	*run
	o       *crashOptions
	addr    string
	dir     string
	r       *rand.Rand
	writers []writer

	early  int             // killed before they were ready
	starts []time.Duration // until ready, after a crash
}

// cycle starts the server, compares everything, writes, and kills it.
func (c *crash) cycle(ctx context.Context, first bool) error {
	if !first && c.r.IntN(4) == 0 {
		return c.soon(ctx)
	}
	s, err := c.startAndCompare(ctx, first)
	if err != nil {
		return err
	}
	defer s.kill()
	return c.writeUntilKilled(ctx, s, time.Duration(c.r.Int64N(int64(c.o.longest))))
}

// soon kills a server that has just started and may be recovering from the previous crash.
func (c *crash) soon(ctx context.Context) error {
	c.early++
	s, err := c.launch(c.dir, c.addr, crashFlags()...)
	if err != nil {
		return err
	}
	defer s.kill()
	if err := pause(ctx, time.Duration(c.r.Int64N(int64(100*time.Millisecond)))); err != nil {
		return err
	}
	return s.alive()
}

// startAndCompare starts the server and compares it with what was acknowledged.
func (c *crash) startAndCompare(ctx context.Context, first bool) (s *server, err error) {
	began := time.Now()
	if s, err = c.start(ctx, c.dir, c.addr, crashFlags()...); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.kill()
		}
	}()
	if first {
		return s, c.each(func(w writer) error { return w.prepare(ctx, s.api) })
	}
	c.starts = append(c.starts, time.Since(began))
	if err := noStrays(ctx, s.api, c.dir); err != nil {
		return s, err
	}
	return s, c.each(func(w writer) error { return w.check(ctx, s.api) })
}

// each calls do for every writer, concurrently.
func (c *crash) each(do func(writer) error) error {
	var g errgroup.Group
	for _, w := range c.writers {
		g.Go(func() error { return do(w) })
	}
	return g.Wait()
}

// writeUntilKilled lets all writers write, and kills the server meanwhile.
func (c *crash) writeUntilKilled(ctx context.Context, s *server, during time.Duration) error {
	var killed atomic.Bool
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	timer := time.AfterFunc(during, func() {
		killed.Store(true)
		_ = s.cmd.Process.Kill() // the writers will notice
	})
	defer timer.Stop()
	err := c.each(func(w writer) error {
		for ctx.Err() == nil {
			err := w.step(ctx, s.api)
			if errors.Is(err, errNoAnswer) && killed.Load() {
				return nil
			}
			if err != nil {
				stop() // the first failure ends all
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("%w; log: %s", err, s.log)
	}
	return s.sane()
}

// end completes all steps, compares everything with an undisturbed server's results and
// deletes it, after which nothing may be left.
func (c *crash) end(ctx context.Context) error {
	s, err := c.startAndCompare(ctx, false)
	if err != nil {
		return err
	}
	defer s.kill()
	if err := c.each(func(w writer) error { return w.finish(ctx, s.api) }); err != nil {
		return err
	}
	if err := nothingListed(ctx, s.api); err != nil {
		return err
	}
	if err := s.stop(); err != nil {
		return err
	}
	return nothingLeft(c.dir)
}

func (c *crash) report(took time.Duration, drill *restore, upgraded *upgrade) error {
	p := newPage(c.run, "crash")
	p.machine()
	slices.Sort(c.starts)
	p.printf("%d times kill -9 (seed %d), %d of them before the server was ready again, in %v. After each: what was acknowledged was there with its content, "+
		"what was not was there as a whole or not at all; in the end every batch had the answers of an undisturbed server, each once and in order, every tournament the course of an undisturbed one, and nothing was left of what was deleted.\n",
		c.o.crashes, c.o.seed, c.early, took.Round(time.Second))
	p.row("acknowledged", "how many")
	done := map[string]int{}
	for _, w := range c.writers {
		for name, n := range w.done() {
			done[name] += n
		}
	}
	for _, name := range slices.Sorted(maps.Keys(done)) {
		p.row(name, fmt.Sprint(done[name]))
	}
	p.later("Then a folder was damaged %d times: `meta.db` lost, of no bytes, an older one, cut, overwritten; `slates.db` cut and lost; copied while it was written. Each time the server started, and every collection and file that was acknowledged answered as before, %d times after `thresher data repair`.",
		drill.starts, drill.repairs)
	p.later("Then a folder of an earlier program, killed at work, was copied %d times and opened by servers of which %d were killed, %d of them before they were ready: what the earlier program had listed was there in the end, what it had begun was done, all could be changed and deleted, and `thresher data check` found nothing.",
		upgraded.copies, upgraded.kills, upgraded.early)
	p.later("Ready after a crash within %s ms (median), %s ms at most.", ms(percentile(c.starts, 50)), ms(percentile(c.starts, 100)))
	return p.end()
}
