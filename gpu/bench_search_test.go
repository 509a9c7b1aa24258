//go:build cuda && cgo

package gpu

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"thresher/batch"
)

// forecast is a plan that a request can name, with its forecast cost.
type forecast struct {
	Plan      string    `json:"plan"`
	Method    string    `json:"method"`
	Guarantee string    `json:"guarantee"`
	Survivors []float64 `json:"survivors"`
	Chosen    bool      `json:"chosen"`
}

// plans lists the plans for a batch, the cheapest by forecast first.
func (s *server) plans(r *request) ([]forecast, error) {
	x, err := s.set(r)
	if err != nil {
		return nil, err
	}
	ask, err := x.ask(r, 0)
	if err != nil {
		return nil, err
	}
	all, err := x.engine.Plans(ask)
	if err != nil {
		return nil, err
	}
	out := make([]forecast, 0, len(all))
	for _, f := range all {
		out = append(out, forecast{f.Plan, string(f.Method), string(f.Guarantee), f.SurvivorShares, f.Chosen})
	}
	return out, nil
}

// ask returns batch i of a request.
func (x *set) ask(r *request, i int) (batch.Request, error) {
	dim := x.c.Dim
	batches := len(x.queries) / dim / max(1, r.M)
	if r.M < 1 || r.K < 1 || r.First < 0 || batches == 0 {
		return batch.Request{}, fmt.Errorf("batches of %d of %d queries, the %d best", r.M, len(x.queries)/dim, r.K)
	}
	at := (r.First + i) % batches * r.M * dim
	return batch.Request{Queries: x.queries[at : at+r.M*dim], K: r.K, Delta: r.Delta, Method: batch.Method(r.Method), Plan: r.Plan}, nil
}

// found is the cost of batches. All fields but Seconds are sums over the queries.
type found struct {
	Seconds    []float64      `json:"seconds"` // of each batch: queries on the host to answers on the host
	Queries    int            `json:"queries"`
	Pulls      int64          `json:"pulls"`
	DensePulls int64          `json:"dense_pulls"`
	Bytes      int64          `json:"bytes"`
	Rows       int64          `json:"rows"`  // scored exactly
	Exact      int            `json:"exact"` // answers that needed no probability
	Dense      int            `json:"dense"` // sent to the dense path by a look
	Plans      map[string]int `json:"plans"` // queries by method, guarantee, plan and backend
	Looks      []looked       `json:"looks"`
}

// looked sums the reports of the looks at one position of the ladder.
type looked struct {
	Reads     string `json:"reads"`
	Width     int    `json:"width"` // head included
	Rule      string `json:"rule"`
	Queries   int    `json:"queries"`
	Seen      int64  `json:"seen"`
	Survivors int64  `json:"survivors"`
}

func (s *server) search(ctx context.Context, r *request) (*found, error) {
	x, err := s.set(r)
	if err != nil {
		return nil, err
	}
	out := &found{Plans: map[string]int{}}
	var answers []*batch.Response
	for i := range max(1, r.Count) {
		ask, err := x.ask(r, i)
		if err != nil {
			return nil, err
		}
		s.signs.working("searching")
		began := time.Now()
		response, err := x.engine.Search(ctx, ask)
		if err != nil {
			return nil, err
		}
		out.Seconds = append(out.Seconds, time.Since(began).Seconds())
		out.add(response)
		if r.Dump != "" {
			answers = append(answers, response)
		}
	}
	if r.Dump == "" {
		return out, nil
	}
	return out, dump(r.Dump, r.K, answers)
}

func (f *found) add(response *batch.Response) {
	s := &response.Stats
	f.Pulls, f.DensePulls, f.Bytes, f.Rows = f.Pulls+s.Pulls, f.DensePulls+s.DensePulls, f.Bytes+s.Bytes, f.Rows+s.RowsScored
	f.Exact, f.Dense, f.Queries = f.Exact+s.Exact, f.Dense+s.Dense, f.Queries+len(response.Answers)
	for i := range response.Answers {
		c := &response.Answers[i].Certificate
		f.Plans[fmt.Sprintf("%s, %s: %s on %s", c.Method, c.Guarantee, c.Plan, c.Backend)]++
		for at, l := range c.Looks {
			if at == len(f.Looks) {
				f.Looks = append(f.Looks, looked{Reads: l.Reads, Width: l.Width, Rule: l.Rule})
			}
			sum := &f.Looks[at]
			sum.Queries, sum.Seen, sum.Survivors = sum.Queries+1, sum.Seen+int64(l.Seen), sum.Survivors+int64(l.Survivors)
		}
	}
}

// dump writes answers in the format of request.Dump.
func dump(path string, k int, answers []*batch.Response) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	for _, response := range answers {
		for i := range response.Answers {
			a := &response.Answers[i]
			row := make([]int32, k+1)
			for j := range k {
				row[j] = -1
				if j < len(a.IDs) {
					row[j] = int32(a.IDs[j])
				}
			}
			if a.Certificate.Exact {
				row[k] = 1
			}
			if err := binary.Write(w, binary.LittleEndian, row); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// benchData writes random atoms and 3 m queries to files.
func benchData(t *testing.T, n, m, dim int) (atoms, queries string) {
	t.Helper()
	r := rand.New(rand.NewPCG(21, 1))
	folder := t.TempDir()
	write := func(name string, rows int) string {
		x := make([]float32, rows*dim)
		for i := range x { // a few coordinates have most of the norm
			x[i] = float32(r.NormFloat64() / math.Sqrt(float64(1+i%dim)))
		}
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, bytesOfSlice(x), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("atoms", n), write("queries", 3*m)
}

// checkDump compares dumped answers with the best by float64 scores.
func checkDump(t *testing.T, path, atoms, queries string, dim, asked, k int) {
	t.Helper()
	var x set
	defer x.close()
	a, err := x.floats(atoms)
	if err != nil {
		t.Fatal(err)
	}
	q, err := x.floats(queries)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) != 4*asked*(k+1) {
		t.Fatalf("%d bytes for %d answers of %d", len(raw), asked, k)
	}
	wrong := 0
	for j := range asked {
		row := make([]int32, k+1)
		if _, err := binary.Decode(raw[4*j*(k+1):], binary.LittleEndian, row); err != nil {
			t.Fatal(err)
		}
		scores, ids := make([]float64, len(a)/dim), make([]int32, len(a)/dim)
		for i := range scores {
			ids[i] = int32(i)
			for c := range dim {
				scores[i] += float64(a[i*dim+c]) * float64(q[j*dim+c])
			}
		}
		slices.SortFunc(ids, func(a, b int32) int { return cmp.Compare(scores[b], scores[a]) })
		if !slices.Equal(row[:k], ids[:k]) {
			wrong++
		}
	}
	if wrong > 3 { // of 24; P(more than 3 at delta .01) is 1e-4, and the seed is fixed
		t.Errorf("%d of %d answers are not the %d best", wrong, asked, k)
	}
}
