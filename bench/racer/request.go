package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime/pprof"
	"time"

	"thresher/batch"
)

// request asks for Count batches of M queries, starting with batch First of the file and
// cycling through its whole batches.
type request struct {
	M      int     `json:"m"`
	K      int     `json:"k"`
	First  int     `json:"first"`
	Count  int     `json:"count"`
	Method string  `json:"method"`
	Delta  float64 `json:"delta"`
	// Plan, if set, is forced.
	Plan string `json:"plan"`
	// Forecast asks for the plans of the first batch, instead of an answer.
	Forecast bool `json:"forecast"`
	// Dump, if set, is a file for the answers to at most one cycle of the file's batches: for each
	// query K ids as little-endian int32, padded with -1, and a 1 if the certificate says that no
	// probability was needed, else a 0.
	Dump string `json:"dump"`
	// Profile, if set, is a file for a CPU profile of the batches.
	Profile string `json:"profile"`
}

// result is the cost of the batches of a request. Everything but Seconds is summed over the
// queries of at most one cycle of the file's batches.
type result struct {
	Seconds    float64        `json:"seconds"` // of all Count calls of Search
	Queries    int            `json:"queries"`
	Pulls      int64          `json:"pulls"`
	DensePulls int64          `json:"dense_pulls"`
	Bytes      int64          `json:"bytes"`
	Rows       int64          `json:"rows"`    // atoms scored exactly
	Exact      int            `json:"exact"`   // answers that needed no probability
	Dense      int            `json:"dense"`   // queries sent dense in mid-flight
	Partial    int            `json:"partial"` // queries stopped early
	Plans      map[string]int `json:"plans"`   // queries by method, guarantee and plan
	Looks      []look         `json:"looks"`
	Forecasts  []forecast     `json:"forecasts,omitempty"`
}

// forecast is a plan that could answer the batches, in ascending order of its cost.
type forecast struct {
	Method string  `json:"method"`
	Plan   string  `json:"plan"`
	Cost   float64 `json:"cost"` // ns of one core for each atom and query
	Chosen bool    `json:"chosen"`
}

// look sums the looks of one place in the ladder.
type look struct {
	Reads     string `json:"reads"`
	Width     int    `json:"width"`
	Rule      string `json:"rule"`
	Queries   int    `json:"queries"`
	Seen      int64  `json:"seen"`
	Survivors int64  `json:"survivors"`
}

type racer struct {
	engine  *batch.Engine
	queries []float32
	dim     int
}

func (r *racer) answer(ctx context.Context, line []byte) (*result, error) {
	var q request
	if err := json.Unmarshal(line, &q); err != nil {
		return nil, err
	}
	batches := len(r.queries) / r.dim / max(1, q.M)
	if q.M < 1 || q.K < 1 || q.Count < 1 || q.First < 0 || batches == 0 {
		return nil, errors.New("m, k and count are at least 1, and m at most the number of queries")
	}
	if q.Forecast {
		return r.forecasts(batch.Request{
			Queries: r.queries[:q.M*r.dim], K: q.K, Delta: q.Delta, Method: batch.Method(q.Method),
		})
	}
	if q.Profile != "" {
		f, err := os.Create(q.Profile)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, err
		}
		defer pprof.StopCPUProfile()
	}
	// as many as there are different batches; a caller would not keep more
	responses := make([]*batch.Response, min(q.Count, batches))
	began := time.Now()
	for i := range q.Count {
		at := (q.First + i) % batches * q.M * r.dim
		response, err := r.engine.Search(ctx, batch.Request{
			Queries: r.queries[at : at+q.M*r.dim], K: q.K, Delta: q.Delta, Method: batch.Method(q.Method), Plan: q.Plan,
		})
		if err != nil {
			return nil, err
		}
		responses[i%batches] = response
	}
	out := &result{Seconds: time.Since(began).Seconds(), Queries: q.M * len(responses), Plans: map[string]int{}}
	for _, response := range responses {
		out.add(response)
	}
	if q.Dump == "" {
		return out, nil
	}
	return out, dump(q.Dump, q.K, responses)
}

func (r *racer) forecasts(req batch.Request) (*result, error) {
	plans, err := r.engine.Plans(req)
	if err != nil {
		return nil, err
	}
	out := &result{}
	for _, p := range plans {
		out.Forecasts = append(out.Forecasts, forecast{string(p.Method), p.Plan, p.Cost, p.Chosen})
	}
	return out, nil
}

func (r *result) add(response *batch.Response) {
	s := &response.Stats
	r.Pulls += s.Pulls
	r.DensePulls += s.DensePulls
	r.Bytes += s.Bytes
	r.Rows += s.RowsScored
	r.Exact += s.Exact
	r.Dense += s.Dense
	r.Partial += s.Unfinished
	for i := range response.Answers {
		c := &response.Answers[i].Certificate
		r.Plans[fmt.Sprintf("%s, %s: %s", c.Method, c.Guarantee, c.Plan)]++
		for at, l := range c.Looks {
			if at == len(r.Looks) {
				r.Looks = append(r.Looks, look{Reads: l.Reads, Width: l.Width, Rule: l.Rule})
			}
			sum := &r.Looks[at]
			sum.Queries++
			sum.Seen += int64(l.Seen)
			sum.Survivors += int64(l.Survivors)
		}
	}
}

// dump writes the answers as request.Dump says.
func dump(path string, k int, responses []*batch.Response) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	w := bufio.NewWriter(f)
	row := make([]byte, 4*(k+1))
	for _, response := range responses {
		for i := range response.Answers {
			a := &response.Answers[i]
			for j := range k {
				id := int32(-1)
				if j < len(a.IDs) {
					id = int32(a.IDs[j])
				}
				binary.LittleEndian.PutUint32(row[4*j:], uint32(id))
			}
			certain := uint32(0)
			if a.Certificate.Exact {
				certain = 1
			}
			binary.LittleEndian.PutUint32(row[4*k:], certain)
			if _, err := w.Write(row); err != nil {
				return err
			}
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}
