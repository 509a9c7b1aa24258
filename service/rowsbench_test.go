package service

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"thresher/service/catalog"
)

// BenchmarkRows measures changes by rows over HTTP, of 100,000 x 256 on loopback: ms of a PUT of one row (median and p99), of
// one of 1,000, and of one row while 8 clients write; beside them ms/flush, what an fsync of the same folder takes, alternately; then what each of 40,000
// single PUTs of 8 clients takes.
func BenchmarkRows(b *testing.B) {
	const n, d = 100_000, 256
	s, v := benchSite(b, n, d)
	v.Release()
	rows := correlated(3, 4096, d)
	body := func(first, count int) []byte {
		ids, vectors := make([]int, count), make([][]float32, count)
		for i := range ids {
			ids[i] = first + i
			at := (first + i) % 4096 * d
			vectors[i] = rows[at : at+d]
		}
		text, err := json.Marshal(map[string]any{"source": map[string]any{"vectors": vectors, "ids": ids}})
		if err != nil {
			b.Fatal(err)
		}
		return text
	}
	put := func(body []byte) time.Duration {
		began := time.Now()
		req, err := http.NewRequest("PUT", s.url+"/v1/collections/films/rows", bytes.NewReader(body))
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
		var info catalog.Info
		if err := json.NewDecoder(resp.Body).Decode(&info); err != nil || resp.StatusCode != 200 {
			b.Error(resp.StatusCode, err)
		}
		return time.Since(began)
	}
	probe, err := os.Create(filepath.Join(s.o.Dir, "probe"))
	if err != nil {
		b.Fatal(err)
	}
	defer probe.Close()
	flush := func() time.Duration {
		began := time.Now()
		if _, err := probe.WriteAt(make([]byte, 4*d+64), 0); err != nil {
			b.Fatal(err)
		}
		if err := probe.Sync(); err != nil {
			b.Fatal(err)
		}
		return time.Since(began)
	}
	ms := func(all []time.Duration, part float64) float64 {
		slices.Sort(all)
		return float64(all[int(part*float64(len(all)-1))].Microseconds()) / 1e3
	}
	for b.Loop() {
		b.ReportMetric(float64(put(body(0, 1)).Microseconds())/1e3, "ms/first")
		var one, many, together, flushes []time.Duration
		for i := range 200 {
			one = append(one, put(body(n+i, 1)))
			flushes = append(flushes, flush())
		}
		for i := range 10 {
			many = append(many, put(body(2*n+1000*i, 1000)))
		}
		var mu sync.Mutex
		var all sync.WaitGroup
		for w := range 8 {
			all.Go(func() {
				for i := range 50 {
					took := put(body(4*n+1000*w+i, 1))
					mu.Lock()
					together = append(together, took)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		b.ReportMetric(ms(one, .5), "ms/row")
		b.ReportMetric(ms(one, .99), "ms/row-p99")
		b.ReportMetric(ms(flushes, .5), "ms/flush")
		b.ReportMetric(ms(many, .5), "ms/1000rows")
		b.ReportMetric(ms(together, .5), "ms/row-of-8")
		began := time.Now()
		for w := range 8 {
			all.Go(func() {
				for i := range 5000 {
					put(body(10*n+5000*w+i, 1))
				}
			})
		}
		all.Wait()
		took := time.Since(began)
		b.ReportMetric(took.Seconds()*1e3/40_000, "ms/each-of-40000")
		info, err := s.catalog.Get("films")
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(os.Stderr, "%d segments, %d rows wait, %d bytes\n", info.Segments, info.Unsealed, info.Bytes)
	}
}
