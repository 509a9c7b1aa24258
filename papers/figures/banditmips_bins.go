package figures

import (
	"context"
	"fmt"
	"slices"

	"thresher/internal/plot"
	"thresher/papers"
	"thresher/papers/baseline"
	"thresher/papers/data"
)

// Variants of Bucket_AE: whether the coordinates that norms are estimated from count as a query's multiplications.
const (
	variantNormsFree    = "norms not counted"
	variantNormsCounted = "norms counted"
)

// banditMIPS7 is Bucket_AE: multiplications against the number of atoms, and against d.
var banditMIPS7 = &Figure{
	ID: "banditmips-7", Paper: "BanditMIPS", Shows: "figure 7",
	Title:      "Bucket_AE: multiplications against the number of atoms, and against d",
	Data:       []string{setPrograms, setText, setNormal, setViewers},
	Needs:      []string{"ml-1m"},
	Algorithms: []string{nameBanditMIPS, nameBucketAE, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Lost:       "From how many coordinates norms are estimated (\"a constant number\"): 64 here.",
	Points: func(s *Settings) []Point {
		var points []Point
		add := func(panel, name string, n, d int, x float64) {
			for draw := range s.Int("draws") {
				key := fmt.Sprintf("%s %s n=%d d=%d draw=%d", panel, name, n, d, draw)
				points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return binRows(ctx, e, s, generated(name, n, d, 1, drawSeed(e, name, draw)), key, panel, draw, x, s.Float("sigma"))
				}})
			}
		}
		for _, name := range s.Strings("sets") {
			for _, n := range s.Ints("n") {
				add(panelAtoms, name, n, s.Int("d"), float64(n))
			}
		}
		for _, d := range s.Ints("d of the last panel") {
			add(panelDimension, setPrograms, s.Int("n of the last panel"), d, float64(d))
		}
		return append(points, Point{Key: setViewers, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			f, err := readFactors(ctx, e, s)
			if err != nil {
				return nil, err
			}
			var rows []Row
			for _, n := range s.Ints("n of MovieLens") {
				for draw := range s.Int("draws") {
					set, err := data.Viewers(f, n, s.Int("d"), 1, drawSeed(e, setViewers, draw))
					if err != nil {
						return nil, err
					}
					found, err := binRows(ctx, e, s, set, setViewers, panelAtoms, draw, float64(n), s.Float("sigma of MovieLens"))
					if err != nil {
						return nil, err
					}
					rows = append(rows, found...)
				}
			}
			return rows, nil
		}})
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		logs := mustLogged("banditmips-7")
		var charts []plot.Chart
		for _, panel := range []string{panelAtoms, panelDimension} {
			of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Panel != panel })
			for _, name := range dataOf(of) {
				title := fmt.Sprintf("%s, d = %d", name, s.Int("d"))
				if panel == panelDimension {
					title = fmt.Sprintf("%s, n = %d", name, s.Int("n of the last panel"))
				}
				c := plot.Chart{Title: title, XLabel: panel, YLabel: "multiplications of a query", LogX: true, LogY: true}
				for _, line := range series(ofData(of, name), lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Multiplications }) {
					line.SD = nil
					c.Series = append(c.Series, line)
				}
				theirs := map[string]string{setPrograms: setText, setViewers: "Netflix transposed"}[name]
				fixed := func(l *logged) bool {
					return (panel == panelDimension) == (l.n == s.Int("n of the last panel") && l.d != 1000)
				}
				kept := slices.DeleteFunc(slices.Clone(logs), func(l logged) bool { return !fixed(&l) })
				c.Series = append(c.Series, publishedLines(kept, theirs, func(string) bool { return true }, func(l *logged) float64 {
					if panel == panelDimension {
						return float64(l.d)
					}
					return float64(l.n)
				}, func(l *logged) float64 { return l.multiplications })...)
				charts = append(charts, c)
			}
		}
		return charts
	},
	Note: noteBanditMIPS7,
}

// Panels of figure 7, by what their x is.
const (
	panelAtoms     = "n"
	panelDimension = "d"
)

// normCoordinates is the number of coordinates that norms are estimated from.
const normCoordinates = 64

func binRows(ctx context.Context, e *Env, s *Settings, set *data.Set, key, panel string, draw int, x, sigma float64) ([]Row, error) {
	k, delta, seed := s.Int("k"), s.Float("delta"), pointSeed(e.Seed, fmt.Sprintf("%s %d", key, draw))
	t, err := newContest(ctx, e, set, k)
	if err != nil {
		return nil, err
	}
	rows, err := t.rows(ctx, e, []int{k}, []method{
		t.text(sigma, delta, seed), t.asRun(sigma, delta, s.Float("epsilon"), seed), t.bucketAE(sigma, delta, seed),
	})
	if err != nil {
		return nil, err
	}
	// The same search, its norms as preprocessing.
	free := rows[len(rows)-1]
	norms := float64(t.n) * float64(min(normCoordinates, t.d))
	free.Variant, free.Preprocessing, free.Multiplications = variantNormsFree, norms, free.Multiplications-norms
	rows = append(rows, free)
	if draw == 0 {
		t.columns = nil
		own, err := t.own(ctx, e, []int{k}, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, own...)
	}
	rows = scaling(rows, t, key, draw, x)
	for i := range rows {
		rows[i].Panel = panel
	}
	return rows, nil
}

// bucketAE is Bucket_AE with estimated norms, which count.
func (t *tradeoff) bucketAE(sigma, delta float64, seed uint64) method {
	atoms := t.columnMajor()
	return method{
		algorithm: nameBucketAE, variant: variantNormsCounted, setting: fmt.Sprintf("sigma %g, delta %g", sigma, delta),
		search: func(ctx context.Context, q int, query []float32, k int) ([]int, baseline.Effort, error) {
			opt := papers.BucketAEOptions{NormCoordinates: min(normCoordinates, t.d)}
			opt.K, opt.Delta, opt.Sigma, opt.Seed = k, delta, sigma, seed+uint64(q)
			out, err := papers.BucketAE(ctx, atoms, query, opt)
			return out.IDs, baseline.Effort{Multiplications: out.Pulls}, err
		},
	}
}

func noteBanditMIPS7(_ *Settings, rows []Row) Note {
	atoms := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Panel != panelAtoms })
	note := Note{
		Says:    "Binning by estimated norm makes multiplications sublinear in n, and leaves them flat in d.",
		Theirs:  "CORRELATED: 58.6k at n = 10^5, .59 an atom, exponent .63, norms not counted",
		Verdict: InKind,
	}
	seen := ""
	for _, name := range dataOf(atoms) {
		of := ofData(atoms, name)
		free, counted, plain := ofLine(of, nameBucketAE, variantNormsFree), ofLine(of, nameBucketAE, variantNormsCounted), ofLine(of, nameBanditMIPS, variantText)
		x := maxX(free)
		a, _ := meanAt(free, x)
		b, _ := meanAt(counted, x)
		c, _ := meanAt(plain, x)
		slope, half := exponent(free)
		slopeCounted, _ := exponent(counted)
		wrong, answers := wrongOf(free)
		if seen != "" {
			seen += "; "
		}
		seen += fmt.Sprintf("%s: exponent %.2f +- %.2f in n without norms and %.2f with them, at n = %s %s and %s beside BanditMIPS's %s, %d of %d wrong",
			name, slope, half, slopeCounted, short(x), short(a), short(b), short(c), wrong, answers)
		if name == setText || name == setPrograms {
			if note.Ours != "" {
				note.Ours += "; "
			}
			note.Ours += fmt.Sprintf("%s: %s at n = %s, %.2g an atom, exponent %.2f", name, short(a), short(x), a/x, slope)
		}
	}
	byD := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Panel != panelDimension })
	slope, half := exponent(ofLine(byD, nameBucketAE, variantNormsFree))
	note.Seen = fmt.Sprintf("%s; in d the exponent is %.2f +- %.2f.", seen, slope, half)
	note.Why = fmt.Sprintf("Bins of small norms are skipped, and sampling in a bin ends by what earlier bins have found, which helps most where norms and products go together, as in CORRELATED; but estimating norms reads %d coordinates of every atom, which is linear in n again and, with many atoms, more than the search itself. Norms and bars are estimates, so wrong answers are the method's, which promises nothing.", normCoordinates)
	return note
}
