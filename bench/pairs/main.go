//go:build linux

// Command pairs measures thresher pairs on embeddings with near duplicates: time, peak memory
// beyond the collection, and whether pairs are missing.
//
//	go run -C bench ./pairs -thresher ../build/thresher -n 1000000 -pairs 1000000
package main

import (
	"bufio"
	"encoding/csv"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"thresher/collection"
	"thresher/dataset"
	"thresher/internal/vectors"
)

const (
	metric   = "cosine"
	minScore = .9
	// group is the number of rows that are near duplicates of each other.
	group = 5
	// noise is the standard deviation of what is added to each coordinate of a duplicate,
	// relative to that of embeddings.
	noise = .15
)

var (
	thresher = flag.String("thresher", "thresher", "program to measure")
	n        = flag.Int("n", 1_000_000, "rows")
	dim      = flag.Int("dim", 256, "coordinates")
	pairs    = flag.Int("pairs", 1_000_000, "pairs, approximately")
	dir      = flag.String("dir", filepath.Join("..", "build", "pairs"), "folder for the data and the outputs")
	check    = flag.Int("check", 50, "rows that are compared with all others in float64")
	method   = flag.String("method", "certain", "method of the search")
)

func main() {
	log.SetFlags(0)
	flag.Parse()
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return err
	}
	name := filepath.Join(*dir, fmt.Sprintf("%dx%d-%d", *n, *dim, *pairs))
	if _, err := os.Stat(name + ".npy"); err != nil {
		if err := makeRows(name + ".npy"); err != nil {
			return err
		}
	}
	if _, err := os.Stat(name + ".thresher"); err != nil {
		if _, _, err := measure("build", "--atoms", name+".npy", "--metric", metric, "--out", name+".thresher"); err != nil {
			return err
		}
	}
	info, err := os.Stat(name + ".thresher")
	if err != nil {
		return err
	}
	out := name + ".csv"
	took, peak, err := measure("pairs", "--atoms", name+".thresher", "--min-score", fmt.Sprint(minScore), "--method", *method,
		"--out", out, "--components", name+".components.parquet", "--force")
	if err != nil {
		return err
	}
	log.Printf("%d x %d: %s; peak memory %d MiB, the collection is %d MiB, beyond it %d MiB", *n, *dim, took.Round(time.Millisecond),
		peak>>20, info.Size()>>20, (peak-info.Size())>>20)
	return compare(name+".thresher", out)
}

// makeRows writes embeddings, groups of which are near duplicates.
func makeRows(path string) error {
	r := vectors.Rand(1)
	rows := vectors.Embeddings(r, *n, *dim)
	groups := min(*pairs/(group*(group-1)/2), *n/group)
	place := r.Perm(*n)
	for g := range groups {
		first := rows[place[g*group]**dim:][:*dim]
		for _, row := range place[g*group+1 : (g+1)*group] {
			for j, x := range first {
				rows[row**dim+j] = x + noise*float32(r.NormFloat64()/math.Sqrt(float64(*dim)))
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	if err := dataset.WriteNPY(w, *n, *dim, rows); err != nil {
		return err
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// measure runs thresher and returns its time and peak memory in bytes.
func measure(args ...string) (took time.Duration, peak int64, err error) {
	cmd := exec.Command(*thresher, args...)
	cmd.Stderr = os.Stderr
	begun := time.Now()
	if err := cmd.Run(); err != nil {
		return 0, 0, fmt.Errorf("%v: %w", cmd.Args, err)
	}
	took = time.Since(begun)
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		return took, 0, nil
	}
	return took, usage.Maxrss << 10, nil
}

// compare reads the pairs and compares those of some rows with an exhaustive search in float64.
func compare(atoms, pairs string) error {
	c, err := collection.Open(atoms)
	if err != nil {
		return err
	}
	defer c.Close()
	found := map[int64]map[int64]bool{} // by row to check: its partners
	for i := range *check {
		found[int64(i)*int64(c.N)/int64(*check)] = map[int64]bool{}
	}
	f, err := os.Open(pairs)
	if err != nil {
		return err
	}
	defer f.Close()
	r := csv.NewReader(bufio.NewReaderSize(f, 1<<20))
	r.ReuseRecord = true
	count := -1 // the header
	for {
		record, err := r.Read()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if count++; count == 0 {
			continue
		}
		a, errA := strconv.ParseInt(record[0], 10, 64)
		b, errB := strconv.ParseInt(record[1], 10, 64)
		if errA != nil || errB != nil {
			return fmt.Errorf("%s: line %d", pairs, count+1)
		}
		for _, p := range [][2]int64{{a, b}, {b, a}} {
			if of := found[p[0]]; of != nil {
				of[p[1]] = true
			}
		}
	}
	norms := make([]float64, c.N)
	for i := range norms {
		norms[i] = math.Sqrt(dot(c.Row(i), c.Row(i)))
	}
	wrong := 0
	for row, of := range found {
		for i := range int64(c.N) {
			if _, both := found[i]; i == row || both && i < row {
				continue // compared from the other side
			}
			score := 0.
			if product := norms[row] * norms[i]; product > 0 {
				score = dot(c.Row(int(row)), c.Row(int(i))) / product
			}
			if of[i] != (score >= minScore) && math.Abs(score-minScore) > 1e-12 {
				log.Printf("rows %d and %d score %g; a pair: %v", row, i, score, of[i])
				wrong++
			}
		}
	}
	log.Printf("%d pairs; %d rows compared with all others in float64: %d differences", count, len(found), wrong)
	if wrong > 0 {
		return fmt.Errorf("%d differences", wrong)
	}
	return nil
}

func dot(x, y []float32) float64 {
	var a, b, c, d float64
	i := 0
	for ; i+4 <= len(x); i += 4 {
		a += float64(x[i]) * float64(y[i])
		b += float64(x[i+1]) * float64(y[i+1])
		c += float64(x[i+2]) * float64(y[i+2])
		d += float64(x[i+3]) * float64(y[i+3])
	}
	for ; i < len(x); i++ {
		a += float64(x[i]) * float64(y[i])
	}
	return a + b + c + d
}
