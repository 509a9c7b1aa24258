package service

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// BenchmarkSearchBesideUpserts measures searches of one query over HTTP, of 100,000 x 256 on loopback: median and p99 in ms, quiet and beside 100 PUTs of one row
// a second, in turns of 2 seconds, over the collection that changes by rows in both. ratio-p99 is the second p99 of the first; its bar is 1.5.
func BenchmarkSearchBesideUpserts(b *testing.B) {
	const n, d, rounds = 100_000, 256, 10
	s, v := benchSite(b, n, d)
	v.Release()
	rows := correlated(3, 4096, d)
	encode := func(body any) []byte {
		text, err := json.Marshal(body)
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	send := func(method, path string, body []byte) time.Duration {
		began := time.Now()
		req, err := http.NewRequest(method, s.url+"/v1/collections/films/"+path, bytes.NewReader(body))
		if err != nil {
			b.Error(err)
			return 0
		}
		req.Header.Set("Content-Type", jsonType)
		resp, err := s.client.Do(req)
		if err != nil {
			b.Error(err)
			return 0
		}
		defer resp.Body.Close()
		if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
			b.Error(method, path, resp.StatusCode, err)
		}
		return time.Since(began)
	}
	var puts, queries [][]byte
	for i := range 4096 {
		row := rows[i*d : (i+1)*d]
		puts = append(puts, encode(map[string]any{"source": map[string]any{"vectors": [][]float32{row}, "ids": []int{n + i}}}))
		queries = append(queries, encode(map[string]any{"queries": [][]float32{row}, "k": 10, "method": "certain"}))
	}
	asked := 0
	var put atomic.Int64
	write := func() { send("PUT", "rows", puts[int(put.Add(1))%len(puts)]) }
	searches := func(seconds time.Duration) (took []time.Duration) {
		for end := time.Now().Add(seconds); time.Now().Before(end); asked++ {
			took = append(took, send("POST", "search", queries[asked*7%len(queries)]))
		}
		return took
	}
	ms := func(all []time.Duration, part float64) float64 {
		slices.Sort(all)
		return float64(all[int(part*float64(len(all)-1))].Microseconds()) / 1e3
	}
	for b.Loop() {
		write() // from now on it changes by rows
		searches(time.Second)
		var quiet, beside []time.Duration
		for range rounds {
			quiet = append(quiet, searches(2*time.Second)...)
			stop := make(chan struct{})
			var writer sync.WaitGroup
			writer.Go(func() {
				due := time.NewTimer(0)
				defer due.Stop()
				for next := time.Now(); ; {
					select {
					case <-due.C: // also those that came due since the last
						for ; !next.After(time.Now()); next = next.Add(10 * time.Millisecond) {
							writer.Go(write) // whether those before it are answered or not
						}
						due.Reset(time.Until(next))
					case <-stop:
						return
					}
				}
			})
			beside = append(beside, searches(2*time.Second)...)
			close(stop)
			writer.Wait()
		}
		b.ReportMetric(ms(quiet, .5), "ms/quiet")
		b.ReportMetric(ms(quiet, .99), "ms/quiet-p99")
		b.ReportMetric(ms(beside, .5), "ms/beside")
		b.ReportMetric(ms(beside, .99), "ms/beside-p99")
		b.ReportMetric(ms(beside, .99)/ms(quiet, .99), "ratio-p99")
		b.ReportMetric(float64(put.Load())/(2*rounds), "puts/s")
	}
}
