package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"thresher/batch"
	"thresher/internal/plot"
	"thresher/papers"
	"thresher/papers/data"
)

// banditMIPSWarm is the warm start of section 3.1, of which the paper has no experiment.
var banditMIPSWarm = &Figure{
	ID: "banditmips-warm", Paper: "BanditMIPS", Shows: "ours, section 3.1",
	Title:      "Warm start: coordinates read and multiplied a query, against the number of queries",
	Data:       []string{setNormal},
	Algorithms: []string{nameBanditMIPS, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Lost:       "The paper describes the warm start and has no experiment with it.",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, cache := range s.Ints("cache") {
			key := fmt.Sprintf("cache=%d", cache)
			points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				return warmRows(ctx, e, s, key, cache)
			}})
		}
		return append(points, Point{Key: "thresher", Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			return ownBatches(ctx, e, s)
		}})
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		warm := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Algorithm != nameBanditMIPS })
		read := plot.Chart{Title: "Share of multiplications that read an atom", XLabel: "queries", YLabel: "reads / multiplications", LogX: true, LogY: true,
			Series: series(warm, func(r *Row) string { return r.Variant }, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Y })}
		multiplied := plot.Chart{Title: setNormal + ": multiplications", XLabel: "queries", YLabel: "multiplications a query", LogX: true, LogY: true,
			Series: series(rows, lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Multiplications })}
		timed := plot.Chart{Title: setNormal + ": time", XLabel: "queries", YLabel: "microseconds, one core", LogX: true, LogY: true,
			Series: series(rows, lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return float64(max(1, r.Wall.Nanoseconds())) / 1000 })}
		return []plot.Chart{read, multiplied, timed}
	},
	Note: noteWarm,
}

func warmVariant(cache int) string { return fmt.Sprintf("%d cached", cache) }

// warmSet is the figure's data, the queries of a smaller number the first of a larger.
func warmSet(e *Env, s *Settings) *data.Set {
	return data.Normal(s.Int("n"), s.Int("d"), slices.Max(s.Ints("m")), drawSeed(e, setNormal, 0))
}

// warmRows are the queries of the largest batch, searched in order; a batch of m is the first m of them. Y is the share of a
// query's multiplications that read an atom, the mean over the queries.
func warmRows(ctx context.Context, e *Env, s *Settings, key string, cache int) ([]Row, error) {
	k, delta, sigma, seed := s.Int("k"), s.Float("delta"), s.Float("sigma"), pointSeed(e.Seed, key)
	t, err := newContest(ctx, e, warmSet(e, s), k)
	if err != nil {
		return nil, err
	}
	var atoms papers.Arms = t.columnMajor()
	opt := papers.BanditMIPSOptions{K: k, Delta: delta, Sigma: sigma}
	cost, filling := 0.0, time.Duration(0)
	if cache > 0 {
		began := time.Now()
		warm, err := papers.NewWarmStart(atoms, cache, papers.WithReplacement, seed)
		if err != nil {
			return nil, err
		}
		filling = time.Since(began)
		atoms, opt.Warm, cost = warm, warm, float64(warm.Cost())
	}
	type answer struct {
		out  papers.Outcome
		took time.Duration
	}
	answers := make([]answer, len(t.queries))
	if err := eachOf(ctx, e.Threads, len(answers), func(q int) error {
		arms, err := papers.NewProducts(atoms, t.queries[q])
		if err != nil {
			return err
		}
		opt := opt
		opt.Seed = seed + uint64(q)
		began := time.Now()
		out, err := papers.BanditMIPS(ctx, arms, opt)
		answers[q] = answer{out, time.Since(began)}
		return err
	}); err != nil {
		return nil, err
	}
	var rows []Row
	for _, m := range s.Ints("m") {
		r := Row{Point: key, Algorithm: nameBanditMIPS, Variant: warmVariant(cache), Data: t.name, N: t.n, D: t.d, K: k,
			Setting: fmt.Sprintf("sigma %g, delta %g", sigma, delta), X: float64(m), Draws: 1, Answers: m, Preprocessing: 0, BuildWall: filling}
		took := time.Duration(0)
		var multiplied []float64
		for q, a := range answers[:m] {
			// The reads that fill the cache are shared evenly.
			r.Y += (float64(a.out.Pulls-a.out.CachedPulls) + cost/float64(m)) / float64(a.out.Pulls) / float64(m)
			took += a.took
			multiplied = append(multiplied, float64(a.out.Pulls))
			right := 0
			for _, id := range a.out.IDs {
				if reaches(t.vectors[id*t.d:(id+1)*t.d], t.queries[q], t.truths[q][k-1]) {
					right++
				}
			}
			if right < k {
				r.Wrong++
			}
			r.Precision += float64(right) / float64(k*m)
		}
		r.Multiplications, r.MultiplicationsSD = meanSD(multiplied)
		r.Wall = took / time.Duration(m)
		rows = append(rows, r)
	}
	return rows, nil
}

// ownBatches searches batches by thresher's methods, all queries of a batch at once and in one goroutine.
func ownBatches(ctx context.Context, e *Env, s *Settings) (rows []Row, err error) {
	t, err := newContest(ctx, e, warmSet(e, s), s.Int("k"))
	if err != nil {
		return nil, err
	}
	for _, c := range ownCollections(t.d) {
		found, err := ownBatchesBy(ctx, e, s, t, c)
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}

// ownBatchesBy are the rows of the methods of a collection.
func ownBatchesBy(ctx context.Context, e *Env, s *Settings, t *tradeoff, of ownCollection) (rows []Row, err error) {
	k := s.Int("k")
	engine, built, closed, err := of.engine(ctx, e, t.vectors, t.d)
	if err != nil {
		return nil, err
	}
	defer closed()
	for _, method := range of.methods {
		for _, m := range s.Ints("m") {
			req := batch.Request{K: k, Method: method, Queries: slices.Concat(t.queries[:m]...)}
			promised(&req, s.Float("delta"))
			began := time.Now()
			found, err := engine.Search(ctx, req)
			if err != nil {
				return nil, err
			}
			r := Row{Point: "thresher", Algorithm: "thresher " + string(method), Data: t.name, N: t.n, D: t.d, K: k, X: float64(m), Draws: 1,
				Answers: m, BuildWall: built, Wall: time.Since(began) / time.Duration(m)}
			var read []float64
			for q, a := range found.Answers {
				read = append(read, float64(a.Certificate.Pulls))
				right := 0
				for _, id := range a.IDs {
					if reaches(t.vectors[int(id)*t.d:(int(id)+1)*t.d], t.queries[q], t.truths[q][k-1]) {
						right++
					}
				}
				if right < k {
					r.Wrong++
				}
				r.Precision += float64(right) / float64(k*m)
			}
			r.Multiplications, r.MultiplicationsSD = meanSD(read)
			rows = append(rows, r)
		}
	}
	return rows, nil
}

func noteWarm(s *Settings, rows []Row) Note {
	note := Note{
		Says:    "Caching the atoms' values at random coordinates spares each query of a batch their reading (section 3.1); no figure shows it.",
		Why:     "A cached value is multiplied by the query all the same, so multiplications stay what they are; reads fall by what elimination does within the cache, and a query whose gap asks for more coordinates than are cached reads them afresh. Failures of queries that share a cache are not independent, which the text says they are. thresher's batch goes further: it reads each block of vectors once for all queries.",
		Verdict: InKind, Theirs: "no figure",
	}
	caches, ms := s.Ints("cache"), s.Ints("m")
	last := float64(slices.Max(ms))
	at := func(cache int, m float64) Row {
		for _, r := range ofLine(rows, nameBanditMIPS, warmVariant(cache)) {
			if r.X == m {
				return r
			}
		}
		return Row{}
	}
	cold := at(caches[0], last)
	seen := fmt.Sprintf("In a batch of %s", short(last))
	for _, cache := range caches[1:] {
		warm, alone := at(cache, last), at(cache, 1)
		multiplied := warm.Multiplications / math.Max(1, cold.Multiplications)
		seen += fmt.Sprintf(", with %d coordinates cached %.2f of a query's multiplications read an atom (%.2f of a single query's, the filling counted), at %.2f times the multiplications and %.2f times the time of no cache",
			cache, warm.Y, alone.Y, multiplied, float64(warm.Wall)/math.Max(1, float64(cold.Wall)))
		note.Ours = fmt.Sprintf("%.2f of the multiplications read an atom with %d cached, %.2f times the multiplications", warm.Y, cache, multiplied)
	}
	single, many := 0.0, 0.0
	for _, r := range ofLine(rows, OwnAdaptive, "") {
		if r.X == 1 {
			single = float64(r.Wall.Microseconds())
		}
		if r.X == last {
			many = float64(r.Wall.Microseconds())
		}
	}
	note.Seen = fmt.Sprintf("%s; thresher adaptive takes %s us for a single query and %s us each of %s.", seen, short(single), short(many), short(last))
	return note
}
