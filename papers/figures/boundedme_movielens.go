package figures

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"thresher/internal/philox"
	"thresher/internal/plot"
	"thresher/papers/data"
)

// movieSets are the data sets of figure 4, with what each stands for.
var movieSets = []struct {
	name, folder string
	predicted    bool // ratings, in place of factors
}{
	{"MovieLens 1M, factors", "ml-1m", false},
	{"MovieLens 100K, factors", "ml-100k", false},
	{"MovieLens 1M, predicted ratings", "ml-1m", true},
}

// boundedME4 compares the methods on factors of ratings, in place of those that may not be passed on.
var boundedME4 = &Figure{
	ID: "boundedme-4", Paper: "BoundedME", Shows: "figure 4",
	Title:      "Precision against saving on factors and predictions of ratings, top 5",
	Data:       []string{movieSets[0].name, movieSets[1].name, movieSets[2].name},
	Needs:      []string{"ml-1m", "ml-100k"},
	Algorithms: []string{nameBoundedME, OwnExact, OwnCertain, OwnStrict, OwnAdaptive}, Baselines: []string{nameLSH, nameGreedy, namePCA},
	Lost: "all curves, the number of queries, how products were scaled to [0, 1], how epsilon and delta were paired; the text says N = 10^5 of every data set, and its source of these has 50 to 200 factors",
	Points: func(s *Settings) []Point {
		sweeps, ks := boundedMESweeps(s), s.Ints("k")
		rank, predictedRank, m := s.Int("rank"), s.Int("predicted_rank"), s.Int("queries")
		users, films := s.Int("users"), s.Int("films")
		chosen := s.Strings("sets")
		var points []Point
		for _, set := range movieSets {
			if !slices.Contains(chosen, set.name) {
				continue
			}
			points = append(points, Point{Key: set.name, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
				var t *tradeoff
				var err error
				if set.predicted {
					t, err = predictedTradeoff(ctx, e, set.name, predictedRank, films, users, m, slices.Max(ks))
				} else {
					t, err = factorTradeoff(ctx, e, set.name, set.folder, rank, m, slices.Max(ks))
				}
				if err != nil {
					return nil, err
				}
				var rows []Row
				for _, w := range sweeps {
					found, err := w.run(ctx, e, t, ks)
					if err != nil {
						return nil, err
					}
					rows = append(rows, found...)
				}
				return rows, nil
			}})
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		var charts []plot.Chart
		for _, set := range movieSets {
			if of := only(rows, set.name, 0); len(of) > 0 {
				charts = append(charts, tradeoffCharts(fmt.Sprintf("%s, N = %d", set.name, of[0].D), of)...)
			}
		}
		return charts
	},
	Note: func(s *Settings, rows []Row) Note {
		n := Note{
			Says: "On factors of Netflix and Yahoo! Music the precision of the baselines drops faster than BoundedME's (figure 4).",
			Why: "Rank 200 leaves little to save: with epsilon up to 1 a round asks for a good part of the 200 rewards that there are, so that BoundedME's line ends early, at a high precision. " +
				"What is popular has the largest products in the first factor, which Greedy-MIPS visits first. The data are stand-ins: neither Netflix's nor Yahoo's may be passed on.",
			Verdict: Reproduced, Theirs: "curves lost",
		}
		for _, set := range movieSets {
			of := only(rows, set.name, 0)
			if len(of) == 0 {
				continue
			}
			part := boundedMETradeoffNote(s.Ints("k")[0], of)
			end := slices.MaxFunc(slices.DeleteFunc(of, func(r Row) bool { return r.Algorithm != nameBoundedME }), func(a, b Row) int { return cmp.Compare(a.X, b.X) })
			n.Seen += fmt.Sprintf("%s, %d x %d: %s BoundedME's line ends at %.3g times and precision %.2g. ", set.name, end.N, end.D, part.Seen, end.X, end.Precision)
			if n.Ours != "" {
				n.Ours += "; "
			}
			n.Ours += set.name + ": " + part.Ours
			switch {
			case part.Verdict == Not:
				n.Verdict = Not
			case n.Verdict == Reproduced:
				n.Verdict = InKind // the data are stand-ins
			}
		}
		n.Seen = strings.TrimSpace(n.Seen)
		return n
	},
}

// factorTradeoff are films as atoms and m users as queries, the leading singular vectors of the matrix of ratings in which a missing one
// is 0 (Cremonesi, Koren and Turrin, "Performance of recommender algorithms on top-N recommendation tasks", RecSys 2010).
func factorTradeoff(ctx context.Context, e *Env, name, folder string, rank, m, kmax int) (*tradeoff, error) {
	r, err := readMovieLens(e, folder)
	if err != nil {
		return nil, err
	}
	f, err := r.Truncated(ctx, rank, func(data.Rating) float64 { return 0 }, pointSeed(e.Seed, "factors "+folder))
	if err != nil {
		return nil, err
	}
	vectors := make([]float32, len(f.Film))
	for p, x := range f.Film {
		vectors[p] = float32(x)
	}
	var queries [][]float32
	for _, user := range rand.New(philox.New(pointSeed(e.Seed, "users "+folder), 0)).Perm(f.Users)[:m] {
		query := make([]float32, rank)
		for j, x := range f.User[user*rank : (user+1)*rank] {
			query[j] = float32(x)
		}
		queries = append(queries, query)
	}
	return newTradeoff(ctx, e, name, vectors, rank, queries, kmax)
}

// predictedTradeoff are n films as atoms and m others as queries, their coordinates the predicted ratings of d users.
func predictedTradeoff(ctx context.Context, e *Env, name string, rank, n, d, m, kmax int) (*tradeoff, error) {
	f, err := readFilms(ctx, e, rank)
	if err != nil {
		return nil, err
	}
	set, err := data.Films(f, n, d, m, pointSeed(e.Seed, "films"))
	if err != nil {
		return nil, err
	}
	vectors, err := data.Rows(ctx, set.Atoms, e.Threads)
	if err != nil {
		return nil, err
	}
	return newTradeoff(ctx, e, name, vectors, d, set.Queries, kmax)
}
