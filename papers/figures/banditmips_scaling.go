package figures

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"thresher/internal/plot"
	"thresher/papers/data"
)

// banditMIPS1 is the paper's claim that multiplications do not grow with d.
var banditMIPS1 = &Figure{
	ID: "banditmips-1", Paper: "BanditMIPS", Shows: "figure 1",
	Title:      "Multiplications against d on the paper's four data sets",
	Data:       []string{setNormal, setText, setPrograms, setMovieLens, setCustomers},
	Needs:      []string{"ml-1m"},
	Algorithms: []string{nameBanditMIPS, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Lost:       "How many of the 10 trials are draws of the data; by the authors' program none: one draw, 10 orders of coordinates.",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, name := range s.Strings("sets") {
			for _, d := range s.Ints("d") {
				for draw := range s.Int("draws") {
					key := fmt.Sprintf("%s d=%d draw=%d", name, d, draw)
					points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
						set := generated(name, s.Int("n"), d, 1, drawSeed(e, name, draw))
						return scalingRows(ctx, e, s, set, key, draw, s.Float("sigma"), s.Float("sigma asrun"), s.Float("delta"))
					}})
				}
			}
		}
		points = append(points, Point{Key: setMovieLens, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			f, err := readFactors(ctx, e, s)
			if err != nil {
				return nil, err
			}
			return filmRows(ctx, e, s, setMovieLens, s.Ints("d of MovieLens"), s.Int("draws"), s.Float("sigma asrun of MovieLens"),
				func(d int, seed uint64) (*data.Set, error) { return data.Films(f, s.Int("n"), d, 1, seed) })
		}}, Point{Key: setCustomers, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			c, err := readCustomers(ctx, e, s)
			if err != nil {
				return nil, err
			}
			return filmRows(ctx, e, s, setCustomers, s.Ints("d of customers"), s.Int("draws of customers"), s.Float("sigma asrun of customers"),
				func(d int, seed uint64) (*data.Set, error) { return c.Films(s.Int("n"), d, 1, seed) })
		}})
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		logs := mustLogged("banditmips-1")
		theirs := map[string]string{setNormal: setNormal, setPrograms: setText, setMovieLens: "MovieLens", setCustomers: "Netflix"}
		var charts []plot.Chart
		for _, name := range dataOf(rows) {
			c := scalingChart(ofData(rows, name), fmt.Sprintf("%s, n = %d", name, s.Int("n")))
			c.Series = append(c.Series, publishedLines(logs, theirs[name], func(string) bool { return true },
				func(l *logged) float64 { return float64(l.d) }, func(l *logged) float64 { return l.multiplications })...)
			charts = append(charts, c)
		}
		if c, ok := gapChart(rows, s.Float("sigma"), s.Float("delta"), s.Int("n")); ok {
			charts = append(charts, c)
		}
		return append(charts, wallChart(rows, "Time of a query, sets without films"))
	},
	Note: noteBanditMIPS1,
}

// filmRows are the rows of a set of films at every d and draw.
func filmRows(ctx context.Context, e *Env, s *Settings, name string, ds []int, draws int, sigmaAsRun float64, draw func(d int, seed uint64) (*data.Set, error)) ([]Row, error) {
	var rows []Row
	for p, d := range ds {
		for i := range draws {
			set, err := draw(d, drawSeed(e, name, i))
			if err != nil {
				return nil, err
			}
			found, err := scalingRows(ctx, e, s, set, name, i, s.Float("sigma of films"), sigmaAsRun, s.Float("delta asrun of films"))
			if err != nil {
				return nil, err
			}
			rows = append(rows, found...)
		}
		e.Progress(p+1, len(ds))
	}
	return rows, nil
}

// scalingRows searches a set by the text's variants, by the authors' program and, in the first draw, by thresher.
func scalingRows(ctx context.Context, e *Env, s *Settings, set *data.Set, key string, draw int, sigma, sigmaAsRun, deltaAsRun float64) ([]Row, error) {
	k, delta, seed := s.Int("k"), s.Float("delta"), pointSeed(e.Seed, key)
	t, err := newContest(ctx, e, set, k)
	if err != nil {
		return nil, err
	}
	sigmas, multiplications, err := t.trueSigmas(ctx, e, seed)
	if err != nil {
		return nil, err
	}
	rows, err := t.rows(ctx, e, []int{k}, []method{
		t.text(sigma, delta, seed), t.textTrue(sigmas, multiplications, delta, seed), t.bernstein(delta, seed),
		t.asRun(sigmaAsRun, deltaAsRun, s.Float("epsilon"), seed),
	})
	if err != nil {
		return nil, err
	}
	if draw == 0 {
		t.columns = nil // thresher's collection takes its memory
		own, err := t.own(ctx, e, []int{k}, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, own...)
	}
	return scaling(rows, t, key, draw, float64(set.Atoms.Dim())), nil
}

// dataOf returns the data sets of rows, in the order of their first rows.
func dataOf(rows []Row) []string {
	var names []string
	for i := range rows {
		if !slices.Contains(names, rows[i].Data) {
			names = append(names, rows[i].Data)
		}
	}
	return names
}

func ofData(rows []Row, name string) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Data != name })
}

func ofLine(rows []Row, algorithm, variant string) []Row {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Algorithm != algorithm || r.Variant != variant })
}

// scalingChart draws multiplications against x: the text's of each draw as a thin line whose colour stands for Delta, and
// every line's mean.
func scalingChart(rows []Row, title string) plot.Chart {
	c := plot.Chart{Title: title, XLabel: "d (thin: the text's draws, orange: large Delta)", YLabel: "multiplications of a query", LogX: true, LogY: true}
	c.Series = append(c.Series, drawLines(ofLine(rows, nameBanditMIPS, variantText))...)
	for _, line := range series(rows, lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Multiplications }) {
		line.SD = nil
		c.Series = append(c.Series, line)
	}
	return c
}

// drawLines is a line for each draw of the data, shaded by the rank of its gap among the draws.
func drawLines(rows []Row) []plot.Series {
	at := map[int]int{}
	var lines []plot.Series
	var gaps []float64
	for _, r := range rows {
		p, ok := at[r.Draw]
		if !ok {
			p = len(lines)
			at[r.Draw], lines, gaps = p, append(lines, plot.Series{}), append(gaps, r.Gap)
		}
		lines[p].X, lines[p].Mean = append(lines[p].X, r.X), append(lines[p].Mean, r.Multiplications)
		gaps[p] = r.Gap // of the largest d, which has the least noise
	}
	if len(lines) < 2 {
		return nil
	}
	order := slices.Sorted(slices.Values(gaps))
	for p := range lines {
		rank, _ := slices.BinarySearch(order, gaps[p])
		shade := float64(rank) / float64(len(order)-1)
		lines[p].Shade = &shade
	}
	return lines
}

// gapChart draws pulls an atom against Delta, at every d, and what Algorithm 1 needs where four radii are Delta.
func gapChart(rows []Row, sigma, delta float64, n int) (plot.Chart, bool) {
	c := plot.Chart{Title: "NORMAL_CUSTOM: BanditMIPS (text) against Delta", XLabel: "Delta", YLabel: "multiplications / n", LogX: true, LogY: true}
	least, most := math.Inf(1), 0.0
	byD := map[int]*plot.Series{}
	var ds []int
	for _, r := range ofLine(ofData(rows, setNormal), nameBanditMIPS, variantText) {
		if r.Gap <= 0 {
			continue
		}
		if byD[r.D] == nil {
			byD[r.D] = &plot.Series{Name: fmt.Sprintf("d = %d", r.D), Kind: plot.Marks}
			ds = append(ds, r.D)
		}
		byD[r.D].X, byD[r.D].Mean = append(byD[r.D].X, r.Gap), append(byD[r.D].Mean, r.Multiplications/float64(r.N))
		least, most = min(least, r.Gap), max(most, r.Gap)
	}
	if len(ds) == 0 || most <= least {
		return c, false
	}
	for _, d := range ds {
		c.Series = append(c.Series, *byD[d])
	}
	bound := plot.Series{Name: "32 sigma^2 ln(4 n s^2/delta) / Delta^2", Kind: plot.Reference}
	for p := range 21 {
		gap := least * math.Pow(most/least, float64(p)/20)
		bound.X, bound.Mean = append(bound.X, gap), append(bound.Mean, neededCoordinates(sigma, delta, gap, n))
	}
	c.Series = append(c.Series, bound)
	return c, true
}

// neededCoordinates is the s at which four radii of Algorithm 1 are a gap: s = 32 sigma^2 ln(4 n s^2/delta) / gap^2.
func neededCoordinates(sigma, delta, gap float64, n int) float64 {
	s := 2.0
	for range 100 {
		s = max(1, 32*sigma*sigma*math.Log(4*float64(n)*s*s/delta)/(gap*gap))
	}
	return s
}

// wallChart draws the time of a query on one core against x, of the generated sets that have all methods. The plain algorithms
// read a copy in which the atoms' values of one coordinate lie side by side.
func wallChart(rows []Row, title string) plot.Chart {
	c := plot.Chart{Title: title, XLabel: "d", YLabel: "microseconds, one core", LogX: true, LogY: true}
	of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool {
		return r.Data == setMovieLens || r.Data == setCustomers || r.Wall <= 0
	})
	for _, line := range series(of, lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return float64(r.Wall.Nanoseconds()) / 1000 }) {
		line.SD = nil
		c.Series = append(c.Series, line)
	}
	return c
}

// slopes are those of log multiplications on log x of each draw that has two rows or more.
func slopes(rows []Row) (of []float64) {
	byDraw := map[int][]Row{}
	for _, r := range rows {
		byDraw[r.Draw] = append(byDraw[r.Draw], r)
	}
	for _, draw := range slices.Sorted(maps.Keys(byDraw)) {
		if rows := byDraw[draw]; len(rows) > 1 {
			of = append(of, slope(rows, xOf, multiplicationsOf))
		}
	}
	return of
}

// exponent is the mean of the slopes of all draws and half the width of its interval of 95%, by Student's distribution; the half
// width is 0 of a single draw.
func exponent(rows []Row) (mean, half float64) {
	of := slopes(rows)
	if len(of) == 0 {
		return 0, 0
	}
	mean, sd := meanSD(of)
	if len(of) == 1 {
		return mean, 0
	}
	return mean, student(len(of)-1) * sd / math.Sqrt(float64(len(of)))
}

// meanAt is the mean of multiplications at an x, and the number of rows that it is of.
func meanAt(rows []Row, x float64) (mean float64, count int) {
	sum := 0.0
	for _, r := range rows {
		if r.X == x {
			sum, count = sum+r.Multiplications, count+1
		}
	}
	return sum / float64(max(1, count)), count
}

// wrongOf counts the queries that rows answer, and those that they answer wrongly.
func wrongOf(rows []Row) (wrong, answers int) {
	for _, r := range rows {
		wrong, answers = wrong+r.Wrong, answers+r.Answers
	}
	return wrong, answers
}

// maxX is the greatest x of rows.
func maxX(rows []Row) float64 {
	x := 0.0
	for _, r := range rows {
		x = max(x, r.X)
	}
	return x
}

// short formats a count in three digits: 14.9k.
func short(x float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		if x >= unit.size {
			return strings.TrimSuffix(fmt.Sprintf("%.3g", x/unit.size), ".0") + unit.name
		}
	}
	return fmt.Sprintf("%.3g", x)
}

func noteBanditMIPS1(_ *Settings, rows []Row) Note {
	n := Note{
		Says: "BanditMIPS does not scale with d on any of four data sets, and is right in all trials.",
		Why: "Algorithm 1 is flat where d exceeds the 32 sigma^2 ln(4 n s^2/delta)/Delta^2 coordinates that the gap Delta asks for, and reads everything below; " +
			"Delta of NORMAL_CUSTOM is |theta| times the gap of the two largest of 100 normals, so a quarter of its draws ask for more than a million coordinates (the paper's own log grows by 54 from d = 10^4 to 10^6), " +
			"and its sigma = 1 is not true, for a product has variance 1 + theta^2 + theta_i^2; films are stand-ins, which the text with sigma = 25 reads in full, twice, until d exceeds what their gap asks for.",
		Verdict: InKind,
	}
	var seen []string
	for _, name := range dataOf(rows) {
		of := ofLine(ofData(rows, name), nameBanditMIPS, variantText)
		slope, half := exponent(of)
		last := maxX(of)
		mean, _ := meanAt(of, last)
		wrong, answers := wrongOf(of)
		size := 0.0
		for _, r := range of {
			if r.X == last {
				size = float64(r.N) * float64(r.D)
			}
		}
		seen = append(seen, fmt.Sprintf("%s: exponent %.2f +- %.2f in d, %s at d = %s (%.1f%% of n d), %d of %d wrong", name, slope, half, short(mean), short(last), 100*mean/size, wrong, answers))
	}
	n.Seen = "BanditMIPS as the text has it, over all draws: " + strings.Join(seen, "; ")
	for _, variant := range []string{variantTrue, variantBernstein, variantAsRun} {
		wrong, answers := wrongOf(ofLine(rows, nameBanditMIPS, variant))
		n.Seen += fmt.Sprintf("; %s is wrong in %d of %d", variant, wrong, answers)
	}
	n.Seen += savings(rows) + "." + hardest(ofLine(ofData(rows, setNormal), nameBanditMIPS, variantText))
	asRun := ofLine(ofData(rows, setPrograms), nameBanditMIPS, variantAsRun)
	mean, draws := meanAt(asRun, 1e4)
	low, high := math.Inf(1), 0.0
	for _, r := range asRun {
		if r.X == 1e4 {
			low, high = min(low, r.Multiplications), max(high, r.Multiplications)
		}
	}
	slope, half := exponent(ofLine(ofData(rows, setNormal), nameBanditMIPS, variantText))
	n.Ours = fmt.Sprintf("NORMAL_CUSTOM: exponent %.2f +- %.2f", slope, half)
	if single := slopes(ofLine(ofData(rows, setNormal), nameBanditMIPS, variantText)); len(single) > 0 {
		n.Ours += fmt.Sprintf(", of single draws %.2f to %.2f", slices.Min(single), slices.Max(single))
	}
	if draws > 0 {
		n.Ours += fmt.Sprintf("; their program on CORRELATED at d = 10^4: %s, draws from %s to %s (%d)", short(mean), short(low), short(high), draws)
	}
	n.Theirs = "NORMAL_CUSTOM: exponent .86 of their log; CORRELATED at 10^4: 14.9k, one draw"
	return n
}

// hardest says how the draw grows whose Delta at the greatest d is smallest, "" if there is none.
func hardest(rows []Row) string {
	if len(rows) == 0 {
		return ""
	}
	last := maxX(rows)
	widest := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.X != last })
	at := slices.MinFunc(widest, func(a, b Row) int { return cmp.Compare(a.Gap, b.Gap) })
	of := slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Draw != at.Draw })
	slope, _ := exponent(of)
	return fmt.Sprintf(" The draw of %s with the smallest Delta, %.2g, has exponent %.2f and %s at d = %s; their log of one draw has .86 and 51.1M at d = 1M.", at.Data, at.Gap, slope, short(at.Multiplications), short(last))
}

// savings says how the plain algorithm's time compares with thresher's at the largest x of each generated set.
func savings(rows []Row) string {
	var faster, compared int
	for _, name := range dataOf(rows) {
		of := slices.DeleteFunc(ofData(rows, name), func(r Row) bool { return r.Draw != 0 })
		text := ofLine(of, nameBanditMIPS, variantText)
		exact := ofLine(of, OwnExact, "")
		last := maxX(exact)
		for _, a := range text {
			for _, b := range exact {
				if a.X == last && b.X == last {
					compared++
					if a.Wall < b.Wall {
						faster++
					}
				}
			}
		}
	}
	return fmt.Sprintf("; in time the plain algorithm beats thresher exact at the largest d on %d of %d sets", faster, compared)
}
