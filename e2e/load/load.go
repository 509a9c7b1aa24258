//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// loadOptions configure a load test.
type loadOptions struct {
	clients   int
	k         int
	rows, dim int
	time      time.Duration // for each way of serving
	slice     time.Duration // per turn
	json      bool          // queries as JSON, else npy
	seed      uint64
}

func prepareLoad(fs *flag.FlagSet) func(context.Context, *run) error {
	var o loadOptions
	fs.IntVar(&o.clients, "clients", 1000, "clients at once, a query each")
	fs.IntVar(&o.k, "k", 10, "atoms of an answer")
	fs.IntVar(&o.rows, "rows", 100_000, "atoms of the collection")
	fs.IntVar(&o.dim, "dim", 768, "their dimension")
	fs.DurationVar(&o.time, "time", 30*time.Second, "how long each way of serving is asked")
	fs.DurationVar(&o.slice, "slice", 5*time.Second, "how much of it at a stretch; then the next has its turn")
	fs.BoolVar(&o.json, "json", false, "send queries as JSON, not as npy")
	fs.Uint64Var(&o.seed, "seed", 1, "of collection and queries")
	return func(ctx context.Context, r *run) error { return r.load(ctx, &o) }
}

// way is one configuration of the server.
type way struct {
	name  string
	flags []string
	*server
	gang []*caller
}

func ways() []*way {
	return []*way{
		{name: "batching on"},
		{name: "batching off", flags: []string{"--coalesce-window", "0"}},
		{name: "batching off, one search a core", flags: []string{"--coalesce-window", "0", "--limits-searches", fmt.Sprint(runtime.NumCPU()), "--limits-waiting", "100000"}},
	}
}

// lowLoads are additional numbers of clients, at which batching must cost nothing.
func lowLoads() []int { return []int{1, 2, 4, 8, 64} }

// load has all configurations answer the same queries, in alternating turns, with the other
// servers idle, so that other load on the machine affects all alike.
func (r *run) load(ctx context.Context, o *loadOptions) error {
	all := ways()
	defer func() {
		for _, w := range all {
			if w.server != nil {
				w.kill()
			}
		}
	}()
	if err := r.serveAll(ctx, o, all); err != nil {
		return err
	}
	requests, err := o.requests()
	if err != nil {
		return err
	}
	p := newPage(r, "load")
	p.machine()
	p.printf("%d atoms x %d (embeddings with a spectrum of power law), k = %d, delta 0.01, one query a request as %s over keep-alive connections on loopback; "+
		"each way is asked for %v in all, %v at a stretch in turns, all servers up; by few clients for a third of that. Clients run on the same %d cores.\n",
		o.rows, o.dim, o.k, o.form(), o.time, o.slice, runtime.NumCPU())
	p.row("clients", "served with", "queries/s", "p50 ms", "p99 ms", "429", "queries a run", "processor: server", "clients")
	for _, clients := range append([]int{o.clients}, lowLoads()...) {
		asked := *o
		if clients != o.clients {
			asked.time, asked.slice = o.time/3, o.slice/2
		}
		counts, err := asked.turns(ctx, all, clients, requests)
		if err != nil {
			return err
		}
		for i, c := range counts {
			p.row(fmt.Sprint(clients), all[i].name, fmt.Sprintf("%.0f", c.rate()), ms(c.percentile(50)), ms(c.percentile(99)),
				fmt.Sprint(c.busy), fmt.Sprintf("%.1f", c.batch()), percent(c.served, c.elapsed), percent(c.spent, c.elapsed))
		}
		if clients == o.clients {
			p.later("With %d clients batching answers **%.2f times** as many queries as without, %.2f times as many as one search a core at a time.",
				clients, counts[0].rate()/counts[1].rate(), counts[0].rate()/counts[2].rate())
		} else {
			p.later("With %d: p99 %.2f times that without batching, p50 %.2f times.",
				clients, ratio(counts[0].percentile(99), counts[1].percentile(99)), ratio(counts[0].percentile(50), counts[1].percentile(50)))
		}
	}
	for _, w := range all {
		if err := errors.Join(w.sane(), w.stop()); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return p.end()
}

func ratio(a, b time.Duration) float64 { return float64(a) / float64(b) }

func (o *loadOptions) form() string {
	if o.json {
		return "JSON"
	}
	return "npy"
}

// serveAll starts a server for each configuration and builds the collection in each.
func (r *run) serveAll(ctx context.Context, o *loadOptions, all []*way) error {
	file := filepath.Join(r.folder, "atoms.npy")
	if err := writeEmbeddings(file, o.rows, o.dim, o.seed); err != nil {
		return err
	}
	for i, w := range all {
		addr, err := freeAddress()
		if err != nil {
			return err
		}
		dir := filepath.Join(r.folder, fmt.Sprint("way", i))
		if w.server, err = r.start(ctx, dir, addr, append([]string{"--roots", r.folder}, w.flags...)...); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		made, err := w.call(ctx, "PUT", "/v1/collections/atoms?wait=true", jsonBody(map[string]any{"metric": "ip", "source": map[string]string{"path": file}}, ""))
		if err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		if err := made.into(nil, 201); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
		w.forget()
	}
	return os.Remove(file)
}

// requests returns complete HTTP requests with different queries.
func (o *loadOptions) requests() ([][]byte, error) {
	const kinds = 1024
	queries := &matrix{dim: o.dim, data: make([]float32, kinds*o.dim)}
	embedding(queries.data, o.dim, rand.New(rand.NewPCG(o.seed, 2)))
	all := make([][]byte, kinds)
	for i := range all {
		one := &matrix{dim: o.dim, data: queries.row(i)}
		b, target := one.body(""), fmt.Sprintf("/v1/collections/atoms/search?k=%d", o.k)
		if o.json {
			target = "/v1/collections/atoms/search"
			b = jsonBody(map[string]any{"queries": [][]float32{one.data}, "k": o.k}, "")
		}
		head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", target, b.kind, len(b.data))
		all[i] = slices.Concat([]byte(head), b.data)
	}
	return all, nil
}

// turns asks all configurations in turns and returns their counts, in order.
func (o *loadOptions) turns(ctx context.Context, all []*way, clients int, requests [][]byte) ([]*count, error) {
	counts := make([]*count, len(all))
	for i, w := range all {
		counts[i] = &count{}
		gang, err := callers(w.addr, clients, requests)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", w.name, err)
		}
		defer dismiss(gang)
		// The setup done by the first requests is not measured.
		if err := (&count{}).ask(ctx, w, gang, min(o.slice, time.Second)); err != nil {
			return nil, fmt.Errorf("%s, %d clients: %w", w.name, clients, err)
		}
		w.gang = gang
	}
	for turn := 0; time.Duration(turn)*o.slice < o.time; turn++ {
		for i := range all {
			// every other turn in reverse order
			at := i
			if turn%2 == 1 {
				at = len(all) - 1 - i
			}
			w := all[at]
			if err := counts[at].ask(ctx, w, w.gang, o.slice); err != nil {
				return nil, fmt.Errorf("%s, %d clients: %w", w.name, clients, err)
			}
		}
	}
	return counts, nil
}

// count is the measurement of one configuration.
type count struct {
	latencies []time.Duration
	busy      int           // answers 429
	elapsed   time.Duration // sum over turns, to the last answer of each
	served    time.Duration // processor time of the server
	spent     time.Duration // and of this process
	runs      [2]float64    // queries that ran, and the number of runs
}

// ask lets the callers ask for a while, each one request after the other.
func (c *count) ask(ctx context.Context, w *way, gang []*caller, during time.Duration) error {
	runtime.GC() // keeps this process's collections out of the turn
	before, err := w.usage(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := together(ctx, gang, began.Add(during)); err != nil {
		return errors.Join(err, w.alive())
	}
	c.elapsed += time.Since(began)
	after, err := w.usage(ctx)
	if err != nil {
		return err
	}
	c.served += after.served - before.served
	c.spent += after.spent - before.spent
	c.runs[0] += after.queries - before.queries
	c.runs[1] += after.runs - before.runs
	for _, one := range gang {
		c.latencies = append(c.latencies, one.latencies...)
		c.busy += one.busy
	}
	return nil
}

// usage is the processor time used so far.
type usage struct {
	served, spent time.Duration // of the server and of this process
	queries, runs float64
}

func (w *way) usage(ctx context.Context) (u usage, err error) {
	if u.served, err = processor(w.pid()); err != nil {
		return u, err
	}
	if u.spent, err = processor(os.Getpid()); err != nil {
		return u, err
	}
	metrics, err := w.call(ctx, "GET", "/metrics", nil)
	if err != nil {
		return u, err
	}
	for line := range bytes.Lines(metrics.data) {
		name, value, _ := strings.Cut(strings.TrimSpace(string(line)), "} ")
		var x float64
		switch {
		case strings.HasPrefix(name, "thresher_batch_size_sum{"):
			_, err = fmt.Sscan(value, &x)
			u.queries += x
		case strings.HasPrefix(name, "thresher_batch_size_count{"):
			_, err = fmt.Sscan(value, &x)
			u.runs += x
		}
	}
	w.forget()
	return u, err
}

func (c *count) rate() float64 { return float64(len(c.latencies)) / c.elapsed.Seconds() }

// batch returns how many queries ran together on average, 1 without batching.
func (c *count) batch() float64 {
	if c.runs[1] == 0 {
		return 1
	}
	return c.runs[0] / c.runs[1]
}

// percentile returns the latency that p percent of the answers do not exceed.
func (c *count) percentile(p int) time.Duration {
	slices.Sort(c.latencies)
	return percentile(c.latencies, p)
}

// percentile is that of sorted values, by nearest rank; 0 if there are none.
func percentile(sorted []time.Duration, p int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.2f", float64(d)/float64(time.Millisecond)) }

// percent formats part as a share of all cores' time.
func percent(part, elapsed time.Duration) string {
	return fmt.Sprintf("%.0f%%", 100*part.Seconds()/elapsed.Seconds()/float64(runtime.NumCPU()))
}
