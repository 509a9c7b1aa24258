package batch_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"thresher/backend/backendtest"
	"thresher/batch"
	"thresher/collection"
	"thresher/internal/draws"
	"thresher/internal/race"
)

// dataFolder holds real data, outside the repository.
const dataFolder = "../../shared/data"

// data opens a file of real data, or skips.
func data(t testing.TB, name string) io.Reader {
	b, err := os.ReadFile(filepath.Join(dataFolder, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("needs %s in ../shared/data beside the repository", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(b)
}

// mnist returns the 10,000 test images as rows of 784 grey values.
func mnist(t testing.TB) ([]float32, int) {
	z, err := gzip.NewReader(data(t, "mnist-t10k/t10k-images-idx3-ubyte.gz"))
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(b)-16)
	for i, v := range b[16:] {
		x[i] = float32(v)
	}
	return x, 784
}

var npyShape = regexp.MustCompile(`'descr': '<f4', 'fortran_order': False, 'shape': \((\d+), (\d+)\)`)

// npy returns the rows of a little-endian float32 matrix.
func npy(t testing.TB, name string) ([]float32, int) {
	b, err := io.ReadAll(data(t, name))
	if err != nil {
		t.Fatal(err)
	}
	from := 10 + int(binary.LittleEndian.Uint16(b[8:]))
	m := npyShape.FindSubmatch(b[:from])
	if m == nil {
		t.Fatalf("%s: header %q", name, b[:from])
	}
	n, _ := strconv.Atoi(string(m[1]))
	dim, _ := strconv.Atoi(string(m[2]))
	x := make([]float32, n*dim)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[from+4*i:]))
	}
	return x, dim
}

// movies returns the ratings of ml-1m, movies by users, less the movie's mean; missing ratings
// are 0.
func movies(t testing.TB) ([]float32, int) {
	const users = 6040
	rows := map[int][]float32{}
	var order []int
	s := bufio.NewScanner(data(t, "ml-1m/ratings.csv"))
	s.Scan() // names of the columns
	for s.Scan() {
		f := strings.Split(s.Text(), ",")
		user, e1 := strconv.Atoi(f[0])
		movie, e2 := strconv.Atoi(f[1])
		rating, e3 := strconv.ParseFloat(f[2], 32)
		if err := errors.Join(e1, e2, e3); err != nil {
			t.Fatal(err)
		}
		if rows[movie] == nil {
			rows[movie] = make([]float32, users)
			order = append(order, movie)
		}
		rows[movie][user-1] = float32(rating)
	}
	x := make([]float32, 0, len(order)*users)
	for _, movie := range order {
		r := rows[movie]
		var sum, n float32
		for _, v := range r {
			if v > 0 {
				sum, n = sum+v, n+1
			}
		}
		for j, v := range r {
			if v > 0 {
				r[j] = v - sum/n
			}
		}
		x = append(x, r...)
	}
	return x, users
}

// TestRealData counts wrong answers on real data. Queries that share a rotation fail together,
// so the trials of the binomial test are seeds, each with a rotation of its own: a trial fails
// if any of its few queries does, with probability at most queries x delta. The false-alarm
// rate is 1e-6 per cell. Exact methods must never fail. Two rotations, of the usual run, find only these; of the eight
// of a full run (THRESHER_FULL), six that fail are too many, which .86 of rotations with a failure are found by with probability
// .9: TestCalibration and the suite of backendtest find less.
func TestRealData(t *testing.T) {
	race.Skip(t, "TestMethodsAgainstOracle searches other rows by the same goroutines")
	const (
		delta   = .01
		queries = 4
	)
	for _, set := range []struct {
		name string
		rows func(t testing.TB) ([]float32, int)
		n    int // of the rows, to bound the time
	}{
		{"mnist", mnist, 1500},
		{"bert", func(t testing.TB) ([]float32, int) { return npy(t, "bert-mpnet-movies/bert_embeddings.npy") }, 1500},
		{"mpnet", func(t testing.TB) ([]float32, int) { return npy(t, "bert-mpnet-movies/mpnet_embeddings.npy") }, 1500},
		{"sp500", func(t testing.TB) ([]float32, int) { return npy(t, "sp500-embeddings/embeddings.npy") }, 1500},
		{"ml-1m", movies, 600},
	} {
		t.Run(set.name, func(t *testing.T) {
			if testing.Short() && set.name == "ml-1m" {
				t.Skip("left out by -short: reads 11 MB of text")
			}
			rows, dim := set.rows(t)
			n := min(set.n, len(rows)/dim-queries)
			seeds := 2
			if draws.Full() {
				seeds = 8
			}
			if testing.Short() {
				n, seeds = min(n, 300), 1
			}
			rest := rows[n*dim : (n+queries)*dim]
			rows = rows[:n*dim]
			type cell struct {
				basis  collection.Basis
				method batch.Method
				k      int
			}
			failed := map[cell]int{}
			for seed := range seeds {
				for _, basis := range []collection.Basis{collection.Rotated, collection.Raw} {
					c := build(t, rows, dim, &collection.Options{Metric: collection.InnerProduct, Seed: uint64(seed), Basis: basis})
					e, o := over(t, c, 2, nil), backendtest.NewOracle(c)
					methods := []batch.Method{batch.Auto, batch.Exact, batch.Certain, batch.Adaptive}
					if basis == collection.Raw {
						methods = []batch.Method{batch.Auto, batch.Certain, batch.Strict, batch.BanditMIPS}
					}
					for _, method := range methods {
						for _, k := range []int{1, 10} {
							resp := search(t, e, batch.Request{Queries: rest, K: k, Method: method, Delta: delta})
							bad := wrong(t, o, c, rest, goal(c, k), resp)
							x := cell{basis, method, k}
							failed[x] += min(1, bad)
							if g := resp.Answers[0].Certificate.Guarantee; bad > 0 && (g == batch.GuaranteeExact || g == batch.GuaranteeCertain) {
								t.Errorf("%v %s k=%d: %d wrong answers under guarantee %s", basis, method, k, bad, g)
							}
						}
					}
				}
			}
			for x, f := range failed {
				if p := backendtest.AtLeast(f, seeds, queries*delta); p < backendtest.FalseAlarm {
					t.Errorf("%v %s k=%d: queries failed under %d of %d rotations, probability %.2g", x.basis, x.method, x.k, f, seeds, p)
				}
				if f > 0 {
					t.Logf("%v %s k=%d: queries failed under %d of %d rotations", x.basis, x.method, x.k, f, seeds)
				}
			}
			t.Logf("%d rows of %d, %d queries, %d rotations", n, dim, queries, seeds)
		})
	}
}
