package service

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/cpu"
	"thresher/service/catalog"
	"thresher/service/oip"
)

// BenchmarkOverhead runs the same searches through the library and through the server,
// alternately, over one connection on loopback, and reports the server's overhead: ns/search
// of both, and the difference in % of the search. The collections are synthetic, of 768
// dimensions.
func BenchmarkOverhead(b *testing.B) {
	for _, n := range []int{20_000, 100_000} {
		b.Run("atoms="+strconv.Itoa(n), func(b *testing.B) { benchOverhead(b, n) })
	}
}

func benchOverhead(b *testing.B, n int) {
	const d = 768
	s, v := benchSite(b, n, d)
	for _, m := range []int{1, 256} {
		queries := correlated(2, m, d)
		text, err := json.Marshal(map[string]any{"queries": split(queries, d), "k": 10})
		if err != nil {
			b.Fatal(err)
		}
		head := []byte(`{"inputs":[{"name":"queries","datatype":"FP32","shape":[` + strconv.Itoa(m) + `,768],"parameters":{"binary_data_size":` + strconv.Itoa(4*m*d) + `}},` +
			`{"name":"k","datatype":"INT32","shape":[1],"data":[10]}],"parameters":{"binary_data_output":true}}`)
		for _, c := range []struct {
			name, path string
			body       []byte
			h          []string
		}{
			{"npy", "/v1/collections/films/search?k=10", npy(queries, d), []string{"Content-Type", npyType, "Accept", npzType}},
			{"oip", "/v2/models/films/infer", append(head, floats(queries)...), []string{"Content-Type", binType, oip.HeaderLength, strconv.Itoa(len(head))}},
			{"json", "/v1/collections/films/search", text, []string{"Content-Type", jsonType}},
		} {
			b.Run(c.name+"/m="+strconv.Itoa(m), func(b *testing.B) {
				var library, server time.Duration
				for b.Loop() {
					t0 := time.Now()
					if _, err := v.Direct(context.Background(), batch.Request{Queries: queries, K: 10}); err != nil {
						b.Fatal(err)
					}
					t1 := time.Now()
					s.post(b, c.path, c.body, c.h)
					server += time.Since(t1)
					library += t1.Sub(t0)
				}
				each := float64(b.N)
				b.ReportMetric(float64(library.Nanoseconds())/each, "ns/library")
				b.ReportMetric(float64(server.Nanoseconds())/each, "ns/server")
				b.ReportMetric(100*(float64(server)/float64(library)-1), "%overhead")
			})
		}
	}
}

func (s *site) post(b *testing.B, path string, body []byte, h []string) {
	req, err := http.NewRequest("POST", s.url+path, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i < len(h); i += 2 {
		req.Header.Set(h[i], h[i+1])
	}
	resp, err := s.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 || n == 0 {
		b.Fatal(resp.StatusCode, n, err)
	}
	resp.Body.Close()
}

// benchSite returns a server with a collection of correlated rows, and a version in use.
func benchSite(b *testing.B, n, d int) (*site, *catalog.Version) {
	back := cpu.New(cpu.Options{Threads: 2})
	b.Cleanup(func() { back.Close() })
	s := start(b, func(o *Options) {
		o.Log = nil
		o.Open = func(ctx context.Context, _ string, c *collection.Collection) (*batch.Engine, error) {
			return batch.Open(ctx, c, back, nil)
		}
	})
	info, err := s.catalog.Create(b.Context(), "films", catalog.Source{Rows: correlated(1, n, d), Dim: d}, catalog.CreateOptions{Metric: "ip", Seed: 1}, "")
	if err == nil {
		info, err = s.catalog.Wait(b.Context(), "films", info.Version)
	}
	if err != nil || info.State != catalog.Ready {
		b.Fatal(info, err)
	}
	v, err := s.catalog.Use("films", 0)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(v.Release)
	return s, v
}

// correlated returns rows whose spectrum decays as that of embeddings.
func correlated(seed uint64, n, d int) []float32 {
	x := gaussian(seed, n*d)
	for i := range x {
		x[i] /= float32(1 + i%d/8)
	}
	return x
}

func split(x []float32, d int) [][]float32 {
	var rows [][]float32
	for ; len(x) > 0; x = x[d:] {
		rows = append(rows, x[:d])
	}
	return rows
}
