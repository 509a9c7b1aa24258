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
	"strings"
	"sync"
	"time"
)

// hostileOptions say how much is tried.
type hostileOptions struct {
	rounds      int // of the table
	mutations   int
	cuts        int
	slow        int
	large       int
	connections int
	idle        int
	seed        uint64
}

func prepareHostile(fs *flag.FlagSet) func(context.Context, *run) error {
	var o hostileOptions
	fs.IntVar(&o.rounds, "rounds", 100, "how often everything that cannot be is asked for")
	fs.IntVar(&o.mutations, "mutations", 20_000, "requests of which some bytes are changed")
	fs.IntVar(&o.cuts, "cuts", 5000, "requests that break off")
	fs.IntVar(&o.slow, "slow", 400, "connections that send a byte now and then")
	fs.IntVar(&o.large, "large", 256, "largest bodies, 64 at once")
	fs.IntVar(&o.connections, "connections", 100_000, "connections that are opened and reset")
	fs.IntVar(&o.idle, "idle", 4000, "connections that stay open")
	fs.Uint64Var(&o.seed, "seed", 1, "of what is made up")
	return func(ctx context.Context, r *run) error { return r.hostile(ctx, &o) }
}

const (
	bodyLimit = 4 << 20
	// maxMemory bounds the server's resident memory at any time: what it starts with and several
	// times limits.bodies, since a decoded body exists beside the raw one.
	maxMemory = 384 << 20
	// maxGrowth bounds the increase of resident memory from after the first trial to the end.
	maxGrowth = 128 << 20
	// idleTimeout is that of the hasty server; slow headers and bodies have 1 s there.
	idleTimeout = 3 * time.Second
)

// hostileFlags are those of a server whose limits of time are short, or none that strikes on a machine that is slow or stands still for a while.
func hostileFlags(hasty bool) []string {
	header, idle := "1h", "1h"
	if hasty {
		header, idle = "1s", idleTimeout.String()
	}
	return []string{
		"--costs", "builtin", "--limits-body", "4MiB", "--limits-bodies", "32MiB", "--limits-upload", "8MiB", "--limits-memory", "256MiB",
		"--limits-rate", "64KiB", "--timeouts-header", header, "--timeouts-body", header, "--timeouts-idle", idle,
	}
}

// trial is one kind of malformed or malicious request.
type trial struct {
	says  string
	do    func(*hostile, context.Context) error
	hasty bool // it is about limits of time
}

func trials(hasty bool) []trial {
	return slices.DeleteFunc([]trial{
		{"everything that cannot be", (*hostile).table, false},
		{"bytes changed", (*hostile).mutate, false},
		{"broken off", (*hostile).cut, false},
		{"the largest bodies, 64 at once", (*hostile).large, false},
		{"connections opened and reset", (*hostile).flood, false},
		{"a byte now and then", (*hostile).slow, true},
		{"connections that stay open", (*hostile).idle, true},
	}, func(t trial) bool { return t.hasty != hasty })
}

// hostile is the server under test and its answers.
type hostile struct {
	*run
	*server
	o *hostileOptions
	r *rand.Rand

	hasty bool

	mu       sync.Mutex
	statuses map[int]int
	note     string // of the current trial
}

// hostile runs all trials, those about limits of time on a server of its own, and watches the servers' memory.
func (r *run) hostile(ctx context.Context, o *hostileOptions) error {
	h := &hostile{run: r, o: o, r: rand.New(rand.NewPCG(o.seed, 6)), statuses: map[int]int{}}
	p := newPage(r, "hostile")
	p.machine()
	p.printf("limits.body 4 MiB, limits.bodies 32 MiB, limits.upload 8 MiB; in the last two trials timeouts.header and .body 1 s, timeouts.idle %v. No answer may be a 5xx but 503 and 507, "+
		"and after each trial the server answers as before.\n", idleTimeout)
	p.row("trial", "answers", "took", "resident after, MiB", "at most, MiB", "")
	for _, h.hasty = range []bool{false, true} {
		if err := h.try(ctx, p); err != nil {
			return err
		}
	}
	return p.end()
}

// try runs the trials of one server.
func (h *hostile) try(ctx context.Context, p *page) error {
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	if h.server, err = h.start(ctx, filepath.Join(h.folder, "data"), addr, hostileFlags(h.hasty)...); err != nil {
		return err
	}
	defer h.kill()
	if !h.hasty { // the other finds the collection
		if err := h.fill(ctx); err != nil {
			return err
		}
	}
	var first, last, peak int64
	for i, t := range trials(h.hasty) {
		forgetPeak(h.pid())
		clear(h.statuses)
		h.note = ""
		began := time.Now()
		if err := errors.Join(t.do(h, ctx), h.alive()); err != nil {
			return fmt.Errorf("%s: %w; log: %s", t.says, err, h.log)
		}
		took := time.Since(began)
		if err := h.well(ctx); err != nil {
			return fmt.Errorf("after %s: %w; log: %s", t.says, err, h.log)
		}
		now, most, err := memory(h.pid())
		if err != nil {
			return err
		}
		if last, peak = now, max(peak, most); i == 0 {
			first = now
		}
		p.row(t.says, h.answers(), took.Round(100*time.Millisecond).String(), fmt.Sprintf("%.0f", mib(now)), fmt.Sprintf("%.0f", mib(most)), h.note)
	}
	if peak > maxMemory || last-first > maxGrowth {
		return fmt.Errorf("memory: %.0f MiB after the first trial, %.0f after the last, %.0f at most; the most are %d and %d more than the first",
			mib(first), mib(last), mib(peak), maxMemory>>20, maxGrowth>>20)
	}
	return h.stop()
}

// ordinary does what must succeed, again if short limits of time struck: so they do on a machine that stands still for longer.
func (h *hostile) ordinary(ctx context.Context, do func() error) error {
	for end := time.Now().Add(callWait); ; {
		err := do()
		struck := err != nil && h.hasty && (errors.Is(err, errNoAnswer) || strings.Contains(err.Error(), "status 408"))
		if !struck || ctx.Err() != nil || h.alive() != nil || time.Now().After(end) {
			return err
		}
	}
}

const (
	hostName = "atoms"
	hostRows = 2000
	hostDim  = 16
)

// fill creates a collection.
func (h *hostile) fill(ctx context.Context) error {
	got, err := h.call(ctx, "PUT", "/v1/collections/"+hostName+"?metric=ip&wait=true", gaussian(hostRows, hostDim, 1).body(""))
	if err != nil {
		return err
	}
	return got.into(nil, 201)
}

// well fails unless the server answers an ordinary search correctly, has closed all
// connections, and never had an internal error.
func (h *hostile) well(ctx context.Context) error {
	rows := gaussian(hostRows, hostDim, 1)
	ids := make([]int64, hostRows)
	for i := range ids {
		ids[i] = int64(i)
	}
	queries := gaussian(2, hostDim, 3)
	var results []found
	var metrics *answer
	err := h.ordinary(ctx, func() (err error) {
		if _, results, err = h.search(ctx, hostName, queries, 5); err == nil {
			metrics, err = h.call(ctx, "GET", "/metrics", nil)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, result := range results {
		if top := best(rows, ids, queries.row(i), 5); !slices.Equal(top, result.IDs) {
			return fmt.Errorf("a search finds %v, which should be %v", result.IDs, top)
		}
	}
	if !strings.Contains(string(metrics.data), "\nthresher_rejected_total{reason=\"internal\"} 0\n") {
		return errors.New("the server counts internal failures, or does not say how many")
	}
	h.forget()
	return errors.Join(h.sane(), h.noConnections(ctx))
}

// fewDescriptors is a generous bound of a server's descriptors without clients.
const fewDescriptors = 40

func (h *hostile) noConnections(ctx context.Context) error {
	return eventually(ctx, func() error {
		n, err := descriptors(h.pid())
		if err == nil && n > fewDescriptors {
			err = fmt.Errorf("the server has %d files and connections open", n)
		}
		return err
	})
}

// count records an answer and fails for one that must not occur.
func (h *hostile) count(got *answer, asked string) error {
	h.mu.Lock()
	h.statuses[got.status]++
	h.mu.Unlock()
	if got.status >= 500 && got.status != 503 && got.status != 507 {
		return fmt.Errorf("%s: status %d: %.300s", asked, got.status, got.data)
	}
	if got.status >= 400 && got.kind == "application/problem+json" && !strings.HasPrefix(got.problem().Type, "/problems/") {
		return fmt.Errorf("%s: status %d with a problem of type %q", asked, got.status, got.problem().Type)
	}
	return nil
}

// answers formats the number of answers by status.
func (h *hostile) answers() string {
	var b strings.Builder
	for _, status := range slices.Sorted(maps.Keys(h.statuses)) {
		fmt.Fprintf(&b, "%d x %d, ", h.statuses[status], status)
	}
	if b.Len() == 0 {
		return "none"
	}
	return strings.TrimSuffix(b.String(), ", ")
}
