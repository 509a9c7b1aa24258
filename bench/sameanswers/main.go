// Command sameanswers runs two builds of thresher on the same searches and reports where ids,
// scores, pulls or exactness differ in any bit. It checks changes that must not affect
// answers:
//
//	go build -o build/before ./cmd/thresher   # at the one commit
//	go build -o build/after ./cmd/thresher    # at the other
//	go run -C bench ./sameanswers ../build/before ../build/after
//
// The cells combine every method, metric, dimension, set of kernels, k and number of threads.
// Plans come from --costs builtin, so they do not depend on the machine's speed. The exit
// status is 1 if an answer differs.
package main

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"thresher/internal/vectors"
)

var (
	methods = []string{"exact", "certain", "adaptive", "strict", "auto", "banditmips", "banditmips-alpha", "banditmips-beta", "bucket-ae", "boundedme", "prefix-f32"}
	metrics = []string{"ip", "cosine", "l2"}
	kernels = []string{"avx512", "avx2", "generic"}
	// extras are additional options of searches; cells cycle through them.
	extras = [][]string{nil, {"--delta", "0.2"}, {"--epsilon", "0.05"}, {"--basis", "raw"}, {"--exclude-self"}}
)

// A shape is a collection's size.
type shape struct{ n, dim int }

var shapes = []shape{{2000, 3}, {2500, 17}, {3000, 64}, {4000, 128}, {2000, 384}, {1500, 768}, {1200, 1024}, {400, 4096}, {90, 32}}

// A cell is one search by both programs.
type cell struct {
	name  string
	flags []string
}

func main() {
	log := flag.Bool("v", false, "print every cell")
	every := flag.Int("every", 1, "take each so-many-th cell only")
	skip := flag.Int("skip", 0, "leave out so many `cells` at the beginning")
	flag.Parse()
	if flag.NArg() != 2 || *every < 1 || *skip < 0 {
		fmt.Fprintln(os.Stderr, "usage: sameanswers [-v] [-every N] [-skip N] BEFORE AFTER")
		os.Exit(2)
	}
	differ, err := run(context.Background(), flag.Arg(0), flag.Arg(1), *skip, *every, *log)
	if err != nil {
		fmt.Fprintln(os.Stderr, "sameanswers:", err)
		os.Exit(2)
	}
	if differ > 0 {
		os.Exit(1)
	}
}

// run compares each every-th cell from number skip on and returns how many differ.
func run(ctx context.Context, before, after string, skip, every int, log bool) (differ int, err error) {
	dir, err := os.MkdirTemp("", "sameanswers")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	cells, err := plan(dir)
	if err != nil {
		return 0, err
	}
	refused, taken := 0, 0
	for i := skip; i < len(cells); i += every {
		c := cells[i]
		taken++
		a, err := search(ctx, before, filepath.Join(dir, "before.npz"), c.flags)
		if err != nil {
			return 0, err
		}
		b, err := search(ctx, after, filepath.Join(dir, "after.npz"), c.flags)
		if err != nil {
			return 0, err
		}
		what := compare(a, b)
		switch {
		case what != "":
			differ++
			fmt.Printf("%s: %s\n", c.name, what)
		case a.code != 0:
			refused++
			fallthrough
		case log:
			fmt.Printf("%s: same (exit %d)\n", c.name, a.code)
		}
	}
	fmt.Printf("%d cells, %d differ, %d refused by both\n", taken, differ, refused)
	return differ, nil
}

// plan writes the collections and queries into dir and lists the searches.
func plan(dir string) ([]cell, error) {
	var cells []cell
	for i, s := range shapes {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		atoms, queries := filepath.Join(dir, fmt.Sprintf("atoms%d.npy", i)), filepath.Join(dir, fmt.Sprintf("queries%d.npy", i))
		rows := vectors.Ties(rng, s.n, s.dim)
		if err := os.WriteFile(atoms, npy(rows, s.dim), 0o600); err != nil {
			return nil, err
		}
		asked := append(vectors.Ties(rng, 24, s.dim), rows[:8*s.dim]...)
		if err := os.WriteFile(queries, npy(asked, s.dim), 0o600); err != nil {
			return nil, err
		}
		ks := []int{1, 10, 100, s.n * 2 / 5, s.n}
		for j, metric := range metrics {
			for l, method := range methods {
				at := len(cells)
				extra := extras[(i+l)%len(extras)]
				kern, threads, k := kernels[(i+j+l)%len(kernels)], 1+(at/3)%2, ks[(at+at/len(ks))%len(ks)]
				from := queries
				if slices.Contains(extra, "--exclude-self") { // the queries are the atoms
					from, k = atoms, min(k, 100)
				}
				flags := []string{"--atoms", atoms, "--queries", from, "--metric", metric, "--method", method, "--kernels", kern,
					"-k", strconv.Itoa(k), "--threads", strconv.Itoa(threads), "--costs", "builtin"}
				name := fmt.Sprintf("%d x %d %s %s k %d, %s, %d threads %s", s.n, s.dim, metric, method, k, kern, threads, strings.Join(extra, " "))
				cells = append(cells, cell{name, append(flags, extra...)})
			}
		}
	}
	return cells, nil
}

// An outcome is a program's exit status and the arrays it wrote.
type outcome struct {
	code   int
	arrays map[string][]byte
}

// search runs a program; a failing exit status is an outcome, a missing program an error.
func search(ctx context.Context, program, out string, flags []string) (outcome, error) {
	args := append([]string{"search", "--out", out, "--force"}, flags...)
	said, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if exit.ExitCode() != 2 {
			return outcome{}, fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, said)
		}
		return outcome{code: 2}, nil
	} else if err != nil {
		return outcome{}, err
	}
	z, err := zip.OpenReader(out)
	if err != nil {
		return outcome{}, err
	}
	defer z.Close()
	o := outcome{arrays: map[string][]byte{}}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			return outcome{}, err
		}
		if o.arrays[f.Name], err = io.ReadAll(r); err != nil {
			return outcome{}, fmt.Errorf("%s: %s: %w", out, f.Name, err)
		}
	}
	return o, nil
}

// compare names the arrays that differ, "" if none does.
func compare(a, b outcome) string {
	if a.code != b.code {
		return fmt.Sprintf("exit code %d before, %d after", a.code, b.code)
	}
	var what []string
	for _, name := range []string{"ids.npy", "scores.npy", "pulls.npy", "exact.npy"} {
		if a.code == 0 && (a.arrays[name] == nil || !bytes.Equal(a.arrays[name], b.arrays[name])) {
			what = append(what, name)
		}
	}
	if len(what) == 0 {
		return ""
	}
	return "another " + strings.Join(what, ", ")
}

// npy encodes rows as a float32 matrix.
func npy(rows []float32, dim int) []byte {
	head := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%d, %d), }", len(rows)/dim, dim)
	head += strings.Repeat(" ", 63-(10+len(head))%64) + "\n"
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	out = append(out, head...)
	for _, x := range rows {
		out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
	}
	return out
}
