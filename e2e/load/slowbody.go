//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// slowOptions configure stalled bodies and one ordinary one.
type slowOptions struct {
	rows, dim int
	stuck     int // connections
	announced int // bytes, by each of them
	sent      int
	queries   int // of the ordinary body
	asks      int
	before    string
	most      time.Duration
}

func prepareSlowBody(fs *flag.FlagSet) func(context.Context, *run) error {
	var o slowOptions
	fs.IntVar(&o.rows, "rows", 10_000, "atoms of the collection")
	fs.IntVar(&o.dim, "dim", 768, "their dimension")
	fs.IntVar(&o.stuck, "stuck", 200, "connections whose body does not come")
	fs.IntVar(&o.announced, "announced", 60_000_000, "bytes that each of them announces")
	fs.IntVar(&o.sent, "sent", 13, "bytes that each of them sends, in the second table 4 MB")
	fs.IntVar(&o.queries, "queries", 100, "queries of the search that comes")
	fs.IntVar(&o.asks, "asks", 5, "how often it comes, in each row")
	fs.StringVar(&o.before, "before", "", "`path` of a program to measure in turns with -thresher")
	fs.DurationVar(&o.most, "most", 0, "fail if the search takes longer than this, by -thresher; 0 is no bound")
	return func(ctx context.Context, r *run) error { return r.slowBody(ctx, &o) }
}

// slowBody measures a search whose body arrives at once next to stalled bodies: just begun,
// and after so many bytes that together they fill the memory for bodies.
func (r *run) slowBody(ctx context.Context, o *slowOptions) error {
	all, err := r.contenders(o.before)
	if err != nil {
		return err
	}
	file := filepath.Join(r.folder, "atoms.npy")
	if err := writeEmbeddings(file, o.rows, o.dim, 1); err != nil {
		return err
	}
	search := gaussian(o.queries, o.dim, 3).body("")
	request := slices.Concat(header("/v1/collections/atoms/search?k=10", search, len(search.data)), search.data)
	const much = 4 << 20
	p := newPage(r, "slowbody")
	p.machine()
	p.printf("A search of %d kB whose body comes at once, %d times, next to %d connections that announce %d MB each and stall after some bytes; default limits. All come from one address.\n",
		len(search.data)/1000, o.asks, o.stuck, o.announced/1_000_000)
	p.row("sent by each stalled body", "program", "searches", "p50 ms", "at most ms", "answers", "of the others refused")
	return served(ctx, all, file, nil, func() error {
		for _, b := range []struct {
			says        string
			stuck, sent int
		}{{"none are there", 0, 0}, {fmt.Sprintf("%d bytes", o.sent), o.stuck, o.sent}, {fmt.Sprintf("%d MiB", much>>20), o.stuck, min(much, o.announced-1)}} {
			for _, c := range all {
				x := &fairResult{statuses: map[int]int{}}
				turned, err := o.measure(ctx, c, b.stuck, b.sent, request, x)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", b.says, c.name, err)
				}
				slices.Sort(x.latencies)
				p.row(b.says, c.name, fmt.Sprint(len(x.latencies)), ms(percentile(x.latencies, 50)), ms(percentile(x.latencies, 100)), x.answers(), fmt.Sprint(turned))
				if o.most > 0 && c == all[0] && (percentile(x.latencies, 100) > o.most || x.statuses[200] != len(x.latencies)) {
					return fmt.Errorf("next to bodies that stall after %s: %v at most, answers %s", b.says, percentile(x.latencies, 100), x.answers())
				}
			}
		}
		return p.end()
	})
}

// measure asks next to stalled connections and returns how many of these the server has
// closed.
func (o *slowOptions) measure(ctx context.Context, c *contender, stuck, sent int, request []byte, x *fairResult) (turned int64, err error) {
	begun := slices.Concat(header("/v1/collections/atoms/search?k=10", bare("application/x-npy", nil), o.announced), npyHeader(o.announced/4/o.dim, o.dim))
	if extra := sent - len(npyHeader(o.announced/4/o.dim, o.dim)); extra > 0 {
		begun = append(begun, make([]byte, extra)...)
	} else {
		begun = begun[:len(begun)+extra]
	}
	var away atomic.Int64
	var wait, written sync.WaitGroup
	conns := make([]net.Conn, stuck)
	defer func() {
		for _, conn := range conns {
			if conn != nil {
				_ = conn.Close()
			}
		}
		wait.Wait()
	}()
	for i := range conns {
		conn, err := net.DialTimeout("tcp", c.addr, callWait)
		if err != nil {
			return 0, err
		}
		conns[i] = conn
		written.Add(1)
		wait.Go(func() {
			// The server stops reading a body it has no memory for, and closes connections that have
			// stalled for long.
			_ = conn.SetWriteDeadline(time.Now().Add(2 * time.Second))
			_, _ = conn.Write(begun)
			written.Done()
			if n, _ := conn.Read(make([]byte, 16)); n > 0 {
				away.Add(1)
			}
		})
	}
	written.Wait()
	for range o.asks {
		one, err := callers(c.addr, 1, [][]byte{request})
		if err != nil {
			return 0, err
		}
		began := time.Now()
		status, err := one[0].ask(ctx)
		dismiss(one)
		if err != nil {
			return 0, err
		}
		x.latencies = append(x.latencies, time.Since(began))
		x.statuses[status]++
	}
	return away.Load(), errors.Join(c.alive(), ctx.Err())
}
