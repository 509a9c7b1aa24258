// Command racer is thresher's child process in the race of bench. It reads a set, prepares it
// through the public library, and answers requests on standard input, one JSON object a line,
// with JSON objects on standard output.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/dataset"
	"thresher/simd"
)

// prepared is the racer's first line: the cost of preparation.
type prepared struct {
	Atoms           int     `json:"atoms"`
	Dimension       int     `json:"dimension"`
	LoadSeconds     float64 `json:"load_seconds"`
	BuildSeconds    float64 `json:"build_seconds"` // collection.Build
	OpenSeconds     float64 `json:"open_seconds"`  // batch.Open
	CollectionBytes int64   `json:"collection_bytes"`
	LoadedBytes     int64   `json:"loaded_bytes"` // peak resident memory before the build, 0 if unknown
	PeakBytes       int64   `json:"peak_bytes"`   // and after it
	Kernels         string  `json:"kernels"`
	Threads         int     `json:"threads"`
	Go              string  `json:"go"`
}

func main() {
	atoms := flag.String("atoms", "", "`file` of atoms")
	queries := flag.String("queries", "", "`file` of queries")
	first := flag.Int("first", 0, "search only this `many` atoms of the file; 0 means all")
	threads := flag.Int("threads", 1, "goroutines that work at once")
	seed := flag.Uint64("seed", 1, "seed of the rotation")
	metric := flag.String("metric", "ip", "`metric` of the scores")
	flag.Parse()
	if err := serve(context.Background(), os.Stdin, os.Stdout, *atoms, *queries, *metric, *first, *threads, *seed); err != nil {
		fmt.Fprintln(os.Stderr, "racer:", err)
		os.Exit(1)
	}
}

// serve answers requests until the end of in.
func serve(ctx context.Context, in io.Reader, out io.Writer, atomsPath, queriesPath, metricName string, first, threads int, seed uint64) error {
	metric, err := collection.ParseMetric(metricName)
	if err != nil {
		return err
	}
	p := prepared{Threads: threads, Kernels: simd.Best().String(), Go: runtime.Version()}
	began := time.Now()
	rows, err := dataset.ReadAll(ctx, atomsPath, nil)
	if err != nil {
		return err
	}
	if first > 0 {
		rows.Rows = min(first, rows.Rows)
		rows.Data = rows.Data[: rows.Rows*rows.Dim : rows.Rows*rows.Dim]
	}
	p.Atoms, p.Dimension = rows.Rows, rows.Dim
	p.LoadSeconds, p.LoadedBytes = time.Since(began).Seconds(), peakResident()

	began = time.Now()
	c, err := collection.Build(ctx, rows.Data, rows.Dim, &collection.Options{Metric: metric, Threads: threads, Seed: seed})
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(atomsPath), err)
	}
	defer c.Close()
	p.BuildSeconds, p.PeakBytes, p.CollectionBytes = time.Since(began).Seconds(), peakResident(), c.Bytes()

	began = time.Now()
	b := cpu.New(cpu.Options{Threads: threads})
	defer b.Close()
	engine, err := batch.Open(ctx, c, b, nil)
	if err != nil {
		return err
	}
	defer engine.Close()
	p.OpenSeconds = time.Since(began).Seconds()

	q, err := dataset.ReadAll(ctx, queriesPath, nil)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(out)
	if err := encoder.Encode(p); err != nil {
		return err
	}
	r := &racer{engine: engine, queries: q.Data, dim: q.Dim}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		result, err := r.answer(ctx, lines.Bytes())
		if err != nil {
			return fmt.Errorf("request %s: %w", lines.Text(), err)
		}
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return lines.Err()
}

// peakResident returns the peak resident memory of this process in bytes, 0 if unknown.
func peakResident() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(rest, "\n")
	kib, err := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(line, "kB")), 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
