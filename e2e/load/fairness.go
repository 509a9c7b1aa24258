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

// fairOptions configure the measurement of one client next to others.
type fairOptions struct {
	rows, dim int
	bulk      int // clients with large searches
	queries   int // of each of them
	k         int
	crowd     int // clients with one query
	time      time.Duration
	rounds    int
	before    string        // another program, for comparison
	timeout   time.Duration // of the single client, in one of the rows
	most      time.Duration // limit of p99 for a single query; 0 is none
	json      bool          // large searches as JSON
	seed      uint64
}

func prepareFair(fs *flag.FlagSet) func(context.Context, *run) error {
	var o fairOptions
	fs.IntVar(&o.rows, "rows", 100_000, "atoms of the collection")
	fs.IntVar(&o.dim, "dim", 768, "their dimension")
	fs.IntVar(&o.bulk, "bulk", 8, "clients of large searches")
	fs.IntVar(&o.queries, "queries", 4096, "queries of each")
	fs.IntVar(&o.k, "k", 10, "atoms of an answer")
	fs.IntVar(&o.crowd, "crowd", 256, "clients of one query each, in a row of its own")
	fs.DurationVar(&o.time, "time", 20*time.Second, "how long each row is measured in each round")
	fs.IntVar(&o.rounds, "rounds", 2, "how often all rows are measured, each program in its turn")
	fs.DurationVar(&o.timeout, "timeout", 200*time.Millisecond, "timeout_ms of the single client, in one of the rows; every answer must come within it")
	fs.StringVar(&o.before, "before", "", "`path` of a program to measure in turns with -thresher")
	fs.DurationVar(&o.most, "most", 0, "fail if p99 of a single query next to others is longer than this, by -thresher; 0 is no bound")
	fs.BoolVar(&o.json, "json", false, "send large searches as JSON, not as npy")
	fs.Uint64Var(&o.seed, "seed", 1, "of collection and queries")
	return func(ctx context.Context, r *run) error { return r.fair(ctx, &o) }
}

// contender is a program to be measured.
type contender struct {
	name string
	run  *run
	*server
}

// contenders returns the programs to measure, the current one first.
func (r *run) contenders(before string) ([]*contender, error) {
	all := []*contender{{name: "now", run: r}}
	if before != "" {
		path, err := filepath.Abs(before)
		if err != nil {
			return nil, err
		}
		other := *r
		other.binary = path
		all = append(all, &contender{name: "before", run: &other})
	}
	return all, nil
}

// serve starts a contender with the collection atoms, from a file of rows.
func (c *contender) serve(ctx context.Context, file string, flags ...string) error {
	addr, err := freeAddress()
	if err != nil {
		return err
	}
	flags = append([]string{"--roots", c.run.folder}, flags...)
	if c.server, err = c.run.start(ctx, filepath.Join(c.run.folder, c.name), addr, flags...); err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	made, err := c.call(ctx, "PUT", "/v1/collections/atoms?wait=true", jsonBody(map[string]any{"metric": "ip", "source": map[string]string{"path": file}}, ""))
	if err == nil {
		err = made.into(nil, 201)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", c.name, err)
	}
	c.forget()
	return nil
}

// served runs work while all contenders are up, and stops them.
func served(ctx context.Context, all []*contender, file string, flags []string, work func() error) error {
	defer func() {
		for _, c := range all {
			if c.server != nil {
				c.kill()
			}
		}
	}()
	for _, c := range all {
		if err := c.serve(ctx, file, flags...); err != nil {
			return err
		}
	}
	if err := work(); err != nil {
		return err
	}
	for _, c := range all {
		if err := errors.Join(c.sane(), c.stop()); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

// background is the load during which a single client asks.
type background struct {
	says     string
	callers  int
	requests [][]byte // requests
	queries  int      // of each
	timeout  bool     // the single client sets fairOptions.timeout
}

// fair measures one client's searches of one query: alone, next to clients of large searches,
// and next to many clients of one query. All have the same address.
func (r *run) fair(ctx context.Context, o *fairOptions) error {
	all, err := r.contenders(o.before)
	if err != nil {
		return err
	}
	file := filepath.Join(r.folder, "atoms.npy")
	if err := writeEmbeddings(file, o.rows, o.dim, o.seed); err != nil {
		return err
	}
	p := newPage(r, "fair")
	p.machine()
	p.printf("%d atoms x %d, k = %d. One client asks one query after the other (npy, a connection that stays open), from the address of all others and without a token; "+
		"%v a row, in %d rounds; clients run on the same cores. Large searches have %d queries.\n", o.rows, o.dim, o.k, o.time, o.rounds, o.queries)
	p.row("load", "program", "single queries", "p50 ms", "p99 ms", "at most ms", "answers", "queries/s of the others")
	return served(ctx, all, file, nil, func() error {
		results := map[string]*fairResult{}
		for range o.rounds {
			for _, b := range o.rowsOf() {
				for _, c := range all {
					key := b.says + c.name
					if results[key] == nil {
						results[key] = &fairResult{statuses: map[int]int{}}
					}
					if err := o.measure(ctx, c, &b, results[key]); err != nil {
						return fmt.Errorf("%s, %s: %w", b.says, c.name, err)
					}
				}
			}
		}
		for _, b := range o.rowsOf() {
			for _, c := range all {
				x := results[b.says+c.name]
				slices.Sort(x.latencies)
				p.row(b.says, c.name, fmt.Sprint(len(x.latencies)), ms(percentile(x.latencies, 50)), ms(percentile(x.latencies, 99)), ms(percentile(x.latencies, 100)),
					x.answers(), fmt.Sprintf("%.0f", float64(x.others)/x.elapsed.Seconds()))
				if late := percentile(x.latencies, 99); o.most > 0 && c == all[0] && b.callers > 0 && late > o.most {
					return fmt.Errorf("next to %s p99 of a single query is %v, more than %v", b.says, late, o.most)
				}
				if n := len(x.latencies); o.most > 0 && c == all[0] && x.statuses[200] != n {
					return fmt.Errorf("next to %s: answers %s", b.says, x.answers())
				}
			}
		}
		return p.end()
	})
}

// rowsOf returns the rows of the table.
func (o *fairOptions) rowsOf() []background {
	large, small := o.requestsOf(o.queries, ""), o.requestsOf(1, "")
	name := fmt.Sprintf("%d clients of %d queries", o.bulk, o.queries)
	return []background{
		{says: "no load"},
		{says: name, callers: o.bulk, requests: large, queries: o.queries},
		{says: fmt.Sprintf("%s, `timeout_ms` %d", name, o.timeout.Milliseconds()), callers: o.bulk, requests: large, queries: o.queries, timeout: true},
		{says: fmt.Sprintf("%d clients of one query", o.crowd), callers: o.crowd, requests: small, queries: 1},
	}
}

// requestsOf returns requests of so many queries each.
func (o *fairOptions) requestsOf(queries int, parameters string) [][]byte {
	kinds := 4
	if queries == 1 {
		kinds = 256
	}
	r := rand.New(rand.NewPCG(o.seed, uint64(2+queries)))
	all := make([][]byte, kinds)
	for i := range all {
		m := &matrix{dim: o.dim, data: make([]float32, queries*o.dim)}
		embedding(m.data, o.dim, r)
		b, target := m.body(""), fmt.Sprintf("/v1/collections/atoms/search?k=%d%s", o.k, parameters)
		if o.json && queries > 1 {
			rows := make([][]float32, queries)
			for j := range rows {
				rows[j] = m.row(j)
			}
			b, target = jsonBody(map[string]any{"queries": rows, "k": o.k}, ""), "/v1/collections/atoms/search"
		}
		all[i] = slices.Concat(header(target, b, len(b.data)), b.data)
	}
	return all
}

// header returns the header of a request that announces a body of length bytes.
func header(target string, b *body, length int) []byte {
	return fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: %d\r\n\r\n", target, b.kind, length)
}

// fairResult is the result of one row for one program.
type fairResult struct {
	latencies []time.Duration // of all answers
	statuses  map[int]int
	others    int // queries
	elapsed   time.Duration
}

// answers formats the number of answers by status.
func (x *fairResult) answers() string {
	var texts []string
	for _, status := range slices.Sorted(maps.Keys(x.statuses)) {
		texts = append(texts, fmt.Sprintf("%d x %d", x.statuses[status], status))
	}
	return strings.Join(texts, ", ")
}

// settled is how long the load runs before measuring starts.
const settled = time.Second

// measure runs the load and one client next to it.
func (o *fairOptions) measure(ctx context.Context, c *contender, b *background, x *fairResult) error {
	others, err := callers(c.addr, b.callers, b.requests)
	if err != nil {
		return err
	}
	defer dismiss(others)
	parameters := ""
	if b.timeout {
		parameters = fmt.Sprintf("&timeout_ms=%d", o.timeout.Milliseconds())
	}
	one, err := callers(c.addr, 1, o.requestsOf(1, parameters))
	if err != nil {
		return err
	}
	defer dismiss(one)
	asking, stop := context.WithCancel(ctx)
	defer stop()
	var wait sync.WaitGroup
	done := make([]int, len(others))
	errs := make([]error, len(others))
	var until time.Time
	if b.callers > 0 {
		until = time.Now().Add(settled)
	}
	for i, other := range others {
		wait.Go(func() {
			for errs[i] == nil && asking.Err() == nil {
				var status int
				if status, errs[i] = other.ask(ctx); status == 200 {
					done[i]++
				}
			}
		})
	}
	if err := pause(ctx, time.Until(until)); err != nil {
		return err
	}
	began := time.Now()
	failed := one[0].timed(ctx, began.Add(o.time), x)
	stop()
	wait.Wait()
	x.elapsed += time.Since(began)
	for _, n := range done {
		x.others += n * b.queries
	}
	return errors.Join(failed, errors.Join(errs...), c.alive())
}

// ask sends one request and returns its status; after a 429 it waits as told.
func (c *caller) ask(ctx context.Context) (status int, err error) {
	request := c.requests[c.next%len(c.requests)]
	c.next++
	if err := c.conn.SetDeadline(time.Now().Add(callWait)); err != nil {
		return 0, err
	}
	if _, err := c.conn.Write(request); err != nil {
		return 0, err
	}
	status, after, err := c.answer()
	if err == nil && status == 429 {
		err = pause(ctx, after)
	}
	return status, err
}

// timed asks until a time, at least once, with a short pause after each answer.
func (c *caller) timed(ctx context.Context, until time.Time, x *fairResult) error {
	for once := false; !once || time.Now().Before(until); once = true {
		began := time.Now()
		status, err := c.ask(ctx)
		if err != nil {
			return err
		}
		x.latencies = append(x.latencies, time.Since(began))
		x.statuses[status]++
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}
