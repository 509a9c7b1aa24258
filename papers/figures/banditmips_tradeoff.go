package figures

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"thresher/internal/plot"
	"thresher/papers"
	"thresher/papers/data"
)

// filmSet is how a figure names and draws its sets of films.
type filmSet struct {
	name, theirs string // as in the authors' logs
	draw         func(ctx context.Context, e *Env, s *Settings) (func(n, d, m int, seed uint64) (*data.Set, error), error)
}

func filmSets() []filmSet {
	return []filmSet{
		{setMovieLens, "MovieLens", func(ctx context.Context, e *Env, s *Settings) (func(n, d, m int, seed uint64) (*data.Set, error), error) {
			f, err := readFactors(ctx, e, s)
			return func(n, d, m int, seed uint64) (*data.Set, error) { return data.Films(f, n, d, m, seed) }, err
		}},
		{setCustomers, "Netflix", func(ctx context.Context, e *Env, s *Settings) (func(n, d, m int, seed uint64) (*data.Set, error), error) {
			c, err := readCustomers(ctx, e, s)
			return func(n, d, m int, seed uint64) (*data.Set, error) { return c.Films(n, d, m, seed) }, err
		}},
	}
}

// sigmaFor is a setting that sets of films have of their own.
func sigmaFor(s *Settings, what, set string) float64 {
	switch set {
	case setMovieLens:
		return s.Float(what + " of MovieLens")
	case setCustomers:
		return s.Float(what + " of customers")
	}
	return s.Float(what)
}

// setPoints are a point for each draw of a synthetic set at each width, and one for each set of films.
func setPoints(s *Settings, widths []int, filmWidths func(set string) []int, rows func(ctx context.Context, e *Env, set *data.Set, key string, draw int) ([]Row, error)) []Point {
	n, m := s.Int("n"), s.Int("queries")
	var points []Point
	for _, name := range s.Strings("sets") {
		for _, d := range widths {
			for draw := range s.Int("draws") {
				key := fmt.Sprintf("%s d=%d draw=%d", name, d, draw)
				points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
					return rows(ctx, e, generated(name, n, d, m, drawSeed(e, name, draw)), key, draw)
				}})
			}
		}
	}
	for _, films := range filmSets() {
		points = append(points, Point{Key: films.name, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			make, err := films.draw(ctx, e, s)
			if err != nil {
				return nil, err
			}
			var out []Row
			for _, d := range filmWidths(films.name) {
				for draw := range s.Int("draws") {
					set, err := make(n, d, m, drawSeed(e, films.name, draw))
					if err != nil {
						return nil, err
					}
					found, err := rows(ctx, e, set, films.name, draw)
					if err != nil {
						return nil, err
					}
					out = append(out, found...)
				}
			}
			return out, nil
		}})
	}
	return points
}

// banditMIPS2 compares multiplications of all methods at one setting each.
var banditMIPS2 = &Figure{
	ID: "banditmips-2", Paper: "BanditMIPS", Shows: "figure 2",
	Title:      "Multiplications against d, BanditMIPS and baselines at one setting each",
	Data:       []string{setNormal, setPrograms, setMovieLens, setCustomers},
	Needs:      []string{"ml-1m"},
	Algorithms: []string{nameBanditMIPS, nameAlpha, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Baselines:  []string{nameBoundedME, nameLSH, namePCA, nameHNSW, nameNEQ},
	Lost:       "The settings of the baselines; those here are their logs' names where these say them. NAPG-MIPS and H2-ALSH are their logs only.",
	Points: func(s *Settings) []Point {
		points := setPoints(s, s.Ints("d"), func(set string) []int {
			if set == setMovieLens {
				return s.Ints("d of MovieLens")
			}
			return s.Ints("d")
		}, func(ctx context.Context, e *Env, set *data.Set, key string, draw int) ([]Row, error) {
			return comparisonRows(ctx, e, s, set, key, draw)
		})
		return append(points, pythonSets(s, s.Ints("d"), s.Ints("d of MovieLens"), pythonAbout{K: []int{s.Int("k")}, X: "d", Settings: map[string][]string{
			nameHNSW: {s.String("setting of HNSW")}, nameNEQ: {s.String("setting of NEQ")},
		}})...)
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		logs := mustLogged("banditmips-2")
		theirs := map[string]string{setNormal: setNormal, setPrograms: setText, setMovieLens: "MovieLens", setCustomers: "Netflix"}
		var charts []plot.Chart
		for _, name := range dataOf(rows) {
			of := ofData(rows, name)
			c := plot.Chart{Title: fmt.Sprintf("%s, n = %d", name, s.Int("n")), XLabel: "d", YLabel: "multiplications of a query", LogX: true, LogY: true}
			line := func(r *Row) string {
				if r.Algorithm == nameNaive {
					return ""
				}
				wrong, answers := wrongOf(ofLine(of, r.Algorithm, r.Variant))
				return fmt.Sprintf("%s (right %.2f)", lineName(r), 1-float64(wrong)/float64(max(1, answers)))
			}
			for _, l := range series(of, line, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Multiplications }) {
				l.SD = nil
				c.Series = append(c.Series, l)
			}
			c.Series = append(c.Series, publishedLines(logs, theirs[name], func(a string) bool {
				return slices.Contains([]string{nameBanditMIPS, nameAlpha, "NEQ-MIPS", "NAPG-MIPS"}, a)
			}, func(l *logged) float64 { return float64(l.d) }, func(l *logged) float64 { return l.multiplications })...)
			charts = append(charts, c)
		}
		return charts
	},
	Note: noteBanditMIPS2,
}

func comparisonRows(ctx context.Context, e *Env, s *Settings, set *data.Set, key string, draw int) ([]Row, error) {
	k, delta, epsilon := s.Int("k"), s.Float("delta"), s.Float("epsilon")
	seed, ks := pointSeed(e.Seed, fmt.Sprintf("%s %d", key, draw)), []int{k}
	t, err := newContest(ctx, e, set, k)
	if err != nil {
		return nil, err
	}
	sigma, asRun := sigmaFor(s, "sigma", set.Name), sigmaFor(s, "sigma asrun", set.Name)
	rows, err := t.rows(ctx, e, ks, []method{
		t.text(sigma, delta, seed), t.asRun(asRun, delta, epsilon, seed), t.alpha(sigma, delta), t.alphaAsRun(asRun, delta, epsilon),
	})
	if err != nil {
		return nil, err
	}
	me, err := t.boundedME(ctx, e, ks, s.Floats("epsilon of BoundedME"), []float64{s.Float("delta of BoundedME")}, papers.Published, seed)
	if err != nil {
		return nil, err
	}
	lsh, err := t.lsh(ctx, e, ks, []int{s.Int("functions of LSH")}, []int{s.Int("tables of LSH")}, seed)
	if err != nil {
		return nil, err
	}
	pca, err := t.pca(ctx, e, ks, []int{s.Int("depth of PCA")}, seed)
	if err != nil {
		return nil, err
	}
	rows = slices.Concat(rows, me, lsh, pca)
	if draw == 0 {
		own, err := t.own(ctx, e, ks, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, own...)
	}
	return scaling(rows, t, key, draw, float64(t.d)), nil
}

func noteBanditMIPS2(_ *Settings, rows []Row) Note {
	note := Note{
		Says: "BanditMIPS and BanditMIPS-alpha take far fewer multiplications than eight baselines on four data sets; on MovieLens 20 and 27 times fewer than the next.",
		Why: "The authors' program multiplies little where its sigma is below the truth and its data have far gaps; with the text's sigma = 25 films are read in full. Alpha has no guarantee: .87 right on CORRELATED and .60 on Netflix in the authors' own logs is how the method is, not a failure of code; the authors' alpha multiplies less than ours as we read its radius, at fewer right answers. " +
			"On films ours and theirs differ, for the text gives neither how missing ratings enter nor their scale. HNSW-MIPS and NEQ-MIPS are indexes whose building is not counted in the paper; H2-ALSH and NAPG are not reproduced.",
		Verdict: InKind,
		Theirs:  "CORRELATED, d = 10^4: BanditMIPS 31.4k (right 1), alpha 1.95k (.87), NEQ 200k (.99), BoundedME 1.0M",
	}
	var seen []string
	for _, name := range dataOf(rows) {
		of := ofData(rows, name)
		last := maxX(of)
		var lines []string
		var done []string
		for i := range of {
			line := lineName(&of[i])
			if slices.Contains(done, line) || of[i].Algorithm == nameNaive {
				continue
			}
			done = append(done, line)
			same := ofLine(of, of[i].Algorithm, of[i].Variant)
			mean, _ := meanAt(same, last)
			wrong, answers := wrongOf(same)
			lines = append(lines, fmt.Sprintf("%s %s (%.2f)", line, short(mean), 1-float64(wrong)/float64(max(1, answers))))
		}
		seen = append(seen, fmt.Sprintf("%s at d = %s: %s", name, short(last), strings.Join(lines, ", ")))
	}
	note.Seen = "Multiplications and, in brackets, the share answered rightly: " + strings.Join(seen, "; ") + "."
	at := func(algorithm string) (float64, float64) {
		of := ofLine(ofData(rows, setPrograms), algorithm, variantAsRun)
		mean, count := meanAt(of, 1e4)
		if count == 0 {
			mean, _ = meanAt(of, maxX(of))
		}
		wrong, answers := wrongOf(of)
		return mean, 1 - float64(wrong)/float64(max(1, answers))
	}
	mean, right := at(nameBanditMIPS)
	alpha, rightAlpha := at(nameAlpha)
	note.Ours = fmt.Sprintf("CORRELATED (asrun): BanditMIPS %s (right %.2f), alpha %s (%.2f)", short(mean), right, short(alpha), rightAlpha)
	note.Why += pythonText(rows)
	return note
}

var (
	banditMIPS3 = tradeoffFigure("banditmips-3", "figure 3", 1)
	banditMIPS5 = tradeoffFigure("banditmips-5", "figure 5", 5)
	banditMIPS6 = tradeoffFigure("banditmips-6", "figure 6", 10)
)

// tradeoffFigure is precision against saving for the k best.
func tradeoffFigure(id, shows string, k int) *Figure {
	return &Figure{
		ID: id, Paper: "BanditMIPS", Shows: shows,
		Title:      fmt.Sprintf("Precision of the %d best against saving on four data sets", k),
		Data:       []string{setNormal, setPrograms, setMovieLens, setCustomers},
		Needs:      []string{"ml-1m"},
		Algorithms: []string{nameBanditMIPS, nameAlpha, nameBucketAE, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
		Baselines:  []string{nameBoundedME, nameLSH, nameGreedy, namePCA, nameHNSW, nameNEQ},
		Lost:       "How delta and epsilon were paired, and most settings of the baselines. NAPG-MIPS and H2-ALSH are their logs only.",
		Points: func(s *Settings) []Point {
			points := setPoints(s, []int{s.Int("d")}, func(set string) []int {
				if set == setMovieLens {
					return []int{s.Int("d of MovieLens")}
				}
				return []int{s.Int("d")}
			}, func(ctx context.Context, e *Env, set *data.Set, key string, draw int) ([]Row, error) {
				return sweepRows(ctx, e, s, set, key, draw)
			})
			return append(points, pythonSets(s, []int{s.Int("d")}, []int{s.Int("d of MovieLens")}, pythonAbout{K: []int{k}, X: "saving"})...)
		},
		Charts: func(s *Settings, rows []Row) []plot.Chart {
			logs := mustLogged(id)
			theirs := map[string]string{setNormal: setNormal, setPrograms: setText, setMovieLens: "MovieLens", setCustomers: "Netflix"}
			var charts []plot.Chart
			for _, name := range dataOf(rows) {
				mean := overDraws(ofData(rows, name))
				drawn := tradeoffCharts(fmt.Sprintf("%s, top %d", name, k), mean)
				drawn[0].Series = append(drawn[0].Series, publishedLines(logs, theirs[name], func(a string) bool {
					return slices.Contains([]string{nameBanditMIPS, nameAlpha, "NAPG-MIPS", "NEQ-MIPS", "H2-ALSH-MIPS"}, a)
				}, func(l *logged) float64 { return float64(l.n*l.d) / l.multiplications }, func(l *logged) float64 { return l.right })...)
				charts = append(charts, drawn...)
			}
			return charts
		},
		Note: func(s *Settings, rows []Row) Note { return noteTradeoff(id, k, rows) },
	}
}

// sweepRows are all methods at all settings on one draw.
func sweepRows(ctx context.Context, e *Env, s *Settings, set *data.Set, key string, draw int) ([]Row, error) {
	k, seed := s.Int("k"), pointSeed(e.Seed, fmt.Sprintf("%s %d", key, draw))
	ks := []int{k}
	t, err := newContest(ctx, e, set, k)
	if err != nil {
		return nil, err
	}
	sigma, asRun := sigmaFor(s, "sigma", set.Name), sigmaFor(s, "sigma asrun", set.Name)
	sigmas, multiplications, err := t.trueSigmas(ctx, e, seed)
	if err != nil {
		return nil, err
	}
	var methods []method
	deltas, epsilons := s.Floats("delta"), s.Floats("epsilon")
	for p, delta := range deltas {
		methods = append(methods, t.text(sigma, delta, seed), t.textTrue(sigmas, multiplications, delta, seed),
			t.asRun(asRun, delta, epsilons[p], seed), t.alpha(sigma, delta), t.alphaAsRun(asRun, delta, epsilons[p]), t.bucketAE(asRun, delta, seed))
	}
	rows, err := t.rows(ctx, e, ks, methods)
	if err != nil {
		return nil, err
	}
	sweeps := []func() ([]Row, error){
		func() ([]Row, error) { return t.naive(ctx, e, ks) },
		func() ([]Row, error) {
			return t.boundedME(ctx, e, ks, s.Floats("epsilon of BoundedME"), []float64{s.Float("delta of BoundedME")}, papers.Published, seed)
		},
		func() ([]Row, error) {
			return t.lsh(ctx, e, ks, s.Ints("functions of LSH"), s.Ints("tables of LSH"), seed)
		},
		func() ([]Row, error) {
			var budgets []int
			for _, b := range s.Ints("budget of Greedy") {
				budgets = append(budgets, min(b, t.n))
			}
			return t.greedy(ctx, e, ks, budgets)
		},
		func() ([]Row, error) { return t.pca(ctx, e, ks, s.Ints("depth of PCA"), seed) },
	}
	if draw == 0 {
		sweeps = append(sweeps, func() ([]Row, error) { return t.own(ctx, e, ks, deltas[len(deltas)/2]) })
	}
	for _, sweep := range sweeps {
		found, err := sweep()
		if err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	gap := t.gap()
	for i := range rows {
		r := &rows[i]
		r.Point, r.Data, r.Draw, r.Gap = key, t.name, draw, gap
		r.Y = r.Precision
	}
	return rows, nil
}

// overDraws returns the mean of rows that differ in their draw alone, one a setting, in the order of the first; X is the saving
// by the mean of multiplications.
func overDraws(rows []Row) []Row {
	type place struct{ algorithm, variant, setting string }
	at := map[place]int{}
	var out []Row
	for _, r := range rows {
		key := place{r.Algorithm, r.Variant, r.Setting}
		p, ok := at[key]
		if !ok {
			at[key], out = len(out), append(out, r)
			continue
		}
		m := &out[p]
		share := 1 / float64(m.Draws+1)
		m.Draws++
		m.Multiplications += (r.Multiplications - m.Multiplications) * share
		m.Preprocessing += (r.Preprocessing - m.Preprocessing) * share
		m.Precision += (r.Precision - m.Precision) * share
		m.Wall += (r.Wall - m.Wall) / time.Duration(m.Draws)
		m.Answers, m.Wrong = m.Answers+r.Answers, m.Wrong+r.Wrong
	}
	for i := range out {
		m := &out[i]
		m.Point = ""
		m.X, m.Y = float64(m.N)*float64(m.D)/math.Max(1, m.Multiplications), m.Precision
	}
	return out
}

func noteTradeoff(id string, k int, rows []Row) Note {
	const bar = .95
	logs := mustLogged(id)
	theirs := map[string]string{setNormal: setNormal, setPrograms: setText, setMovieLens: "MovieLens", setCustomers: "Netflix"}
	note := Note{
		Says: fmt.Sprintf("BanditMIPS and BanditMIPS-alpha have the best trade-off of precision@%d and saving on all four data sets.", k),
		Why: "Savings of hundreds are those of a sigma below the truth: by the authors' program delta is not a bound, and the text's own sigma on films, 25, reads everything. The paper counts no index; LSH, Greedy and PCA are built before, and in time a saving of a plain loop on gathered coordinates is less than of its count (second panel). " +
			"The authors' logs of HNSW-MIPS and NAPG-MIPS stand for ip-NSW at settings that multiply little, and their H2-ALSH never saves more than 1.6 at this precision.",
		Verdict: InKind,
	}
	var seen []string
	for _, name := range dataOf(rows) {
		mean := overDraws(ofData(rows, name))
		var lines, done []string
		for i := range mean {
			line := lineName(&mean[i])
			if slices.Contains(done, line) || mean[i].Algorithm == nameNaive {
				continue
			}
			done = append(done, line)
			saving := "never"
			if x := savingAt(mean, line, bar, byMultiplications); x > 0 {
				saving = fmt.Sprintf("%.3g", x)
			}
			lines = append(lines, line+" "+saving)
		}
		best := 0.0
		for _, l := range logs {
			if l.data == theirs[name] && l.algorithm == nameBanditMIPS && l.right >= bar {
				best = max(best, float64(l.n*l.d)/l.multiplications)
			}
		}
		seen = append(seen, name+": "+strings.Join(lines, ", "))
		ours := savingAt(mean, nameBanditMIPS+", "+variantAsRun, bar, byMultiplications)
		if note.Ours != "" {
			note.Ours, note.Theirs = note.Ours+", ", note.Theirs+", "
		}
		note.Ours += fmt.Sprintf("%s %.3g", name, ours)
		note.Theirs += fmt.Sprintf("%.3g", best)
	}
	note.Ours = "saving of BanditMIPS (asrun) at precision .95: " + note.Ours
	note.Seen = fmt.Sprintf("The greatest saving at precision %g: %s.", bar, strings.Join(seen, "; "))
	note.Why += pythonText(rows)
	return note
}
