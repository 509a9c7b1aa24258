// Command profile repeats a search of a set on one core, and writes a CPU profile of it:
//
//	go run -C bench ./profile -atoms FILE -queries FILE -m 256 -k 10 -out ../build/cpu.prof && go tool pprof -top build/cpu.prof
//
// It prints the plan and the time a query, the mean of all repetitions. What is behind a missed
// goal of docs/benchmarks/race.md is read off such profiles; bench/bench.py makes the sets.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"runtime/pprof"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
)

// options are what the flags say.
type options struct {
	atoms, queries, out string
	metric              string
	m, k, threads       int
	method, plan        string
	allowed             float64
	lasting, pause      time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.atoms, "atoms", "", "`file` of atoms")
	flag.StringVar(&o.queries, "queries", "", "`file` of queries")
	flag.StringVar(&o.metric, "metric", "ip", "`metric` of the scores")
	flag.IntVar(&o.m, "m", 256, "queries of a search, the first of the file")
	flag.IntVar(&o.k, "k", 10, "atoms of an answer")
	flag.IntVar(&o.threads, "threads", 1, "goroutines that work at once")
	flag.StringVar(&o.method, "method", string(batch.Auto), "`method` of the search")
	flag.StringVar(&o.plan, "plan", "", "`name` of a plan to force; empty: as planned")
	flag.Float64Var(&o.allowed, "allowed", 1, "`share` of the atoms, drawn at random, that may be returned")
	flag.DurationVar(&o.lasting, "time", 3*time.Second, "search again and again for so long")
	flag.DurationVar(&o.pause, "pause", 0, "sleep so long before each search, as a service does whose queries come one by one")
	flag.StringVar(&o.out, "out", "", "`file` for the profile; empty: none")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "profile:", err)
		os.Exit(1)
	}
}

// run builds a collection of the atoms, searches it, and prints a line to out.
func run(ctx context.Context, out io.Writer, o options) (err error) {
	metric, err := collection.ParseMetric(o.metric)
	if err != nil {
		return err
	}
	atoms, err := dataset.ReadAll(ctx, o.atoms, nil)
	if err != nil {
		return err
	}
	queries, err := dataset.ReadAll(ctx, o.queries, nil)
	if err != nil {
		return err
	}
	if !(o.allowed > 0 && o.allowed <= 1) {
		return fmt.Errorf("-allowed %g: a share above 0, at most 1", o.allowed)
	}
	if o.m < 1 || o.m > queries.Rows {
		return fmt.Errorf("-m %d: %s has %d queries", o.m, o.queries, queries.Rows)
	}
	c, err := collection.Build(ctx, atoms.Data, atoms.Dim, &collection.Options{Metric: metric, Threads: o.threads, Seed: 1})
	if err != nil {
		return fmt.Errorf("%s: %w", o.atoms, err)
	}
	defer c.Close()
	backend := cpu.New(cpu.Options{Threads: o.threads})
	defer backend.Close()
	engine, err := batch.Open(ctx, c, backend, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	r := batch.Request{Queries: queries.Data[:o.m*queries.Dim], K: o.k, Method: batch.Method(o.method), Plan: o.plan}
	if o.allowed < 1 {
		r.Filter = draw(atoms.Rows, o.allowed)
	}
	resp, err := engine.Search(ctx, r) // touches memory, unprofiled
	if err != nil {
		return err
	}
	if o.out != "" {
		file, err := os.Create(o.out)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile() // before the file is closed
	}
	n, took := 0, time.Duration(0)
	for begun := time.Now(); n == 0 || time.Since(begun) < o.lasting; n++ {
		time.Sleep(o.pause)
		began := time.Now()
		if resp, err = engine.Search(ctx, r); err != nil {
			return err
		}
		took += time.Since(began)
	}
	each := took / time.Duration(n*o.m)
	_, err = fmt.Fprintf(out, "%s: %d x %d, %g allowed, m = %d, k = %d: plan %s, %v a query, %.0f rows of it scored in float64\n", o.method,
		atoms.Rows, atoms.Dim, o.allowed, o.m, o.k, resp.Answers[0].Certificate.Plan, each, float64(resp.Stats.RowsScored)/float64(o.m))
	return err
}

// draw returns about a share of the numbers below n at random, ascending.
func draw(n int, share float64) (rows []int64) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		if r.Float64() < share {
			rows = append(rows, int64(i))
		}
	}
	return rows
}
