package figures

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"thresher/collection"
	"thresher/internal/plot"
	"thresher/papers"
	"thresher/papers/data"
)

// Variants of figure 8.
const (
	variantSearches = "five searches"
	variantWhole    = "with coefficients"
	variantAsRunAll = "five searches, asrun"
	variantOne      = "one search"
)

const namePursuit = "matching pursuit"

// banditMIPS8 is matching pursuit of a song on BanditMIPS.
var banditMIPS8 = &Figure{
	ID: "banditmips-8", Paper: "BanditMIPS", Shows: "figure 8",
	Title:      "Matching pursuit of SimpleSong: multiplications against the length of the song",
	Data:       []string{"SimpleSong"},
	Algorithms: []string{namePursuit, nameBanditMIPS, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Lost:       "The frequencies of the notes that are not played, how coefficients are computed, and which lengths; the text has intervals of a minute but counts their coordinates as if of a second.",
	Points: func(s *Settings) []Point {
		var points []Point
		for _, seconds := range s.Ints("seconds") {
			for _, repeats := range s.Ints("t") {
				for draw := range s.Int("draws") {
					key := fmt.Sprintf("seconds=%d t=%d draw=%d", seconds, repeats, draw)
					points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
						return songRows(ctx, e, s, key, seconds, repeats, draw)
					}})
				}
			}
		}
		return points
	},
	Charts: func(s *Settings, rows []Row) []plot.Chart {
		var charts []plot.Chart
		logs := mustLogged("banditmips-8")
		for _, name := range dataOf(rows) {
			c := plot.Chart{Title: name, XLabel: "d", YLabel: "multiplications", LogX: true, LogY: true,
				Series: series(ofData(rows, name), lineName, func(r *Row) float64 { return r.X }, func(r *Row) float64 { return r.Multiplications })}
			for i := range c.Series {
				c.Series[i].SD = nil
			}
			if name == songName(60) { // whose lengths the logs have
				c.Series = append(c.Series, publishedLines(logs, "SimpleSong", func(string) bool { return true },
					func(l *logged) float64 { return float64(l.d) }, func(l *logged) float64 { return l.multiplications })...)
			}
			charts = append(charts, c)
		}
		return charts
	},
	Note: func(s *Settings, rows []Row) Note {
		whole := ofLine(rows, namePursuit, variantWhole)
		searches := ofLine(rows, namePursuit, variantSearches)
		one := ofLine(rows, nameBanditMIPS, variantOne)
		wrong, answers := wrongOf(whole)
		wrongOne, answersOne := wrongOf(one)
		lo, hi, loOne, hiOne := math.Inf(1), 0.0, math.Inf(1), 0.0
		worst := 0.0
		for _, r := range searches {
			lo, hi = min(lo, r.Multiplications), max(hi, r.Multiplications)
		}
		for _, r := range one {
			loOne, hiOne = min(loOne, r.Multiplications), max(hiOne, r.Multiplications)
		}
		for _, r := range whole {
			worst = max(worst, r.Y)
		}
		ownFrom := 0.0
		for _, r := range rows {
			if r.Algorithm == OwnAdaptive {
				ownFrom = max(ownFrom, r.X)
			}
		}
		program := ofLine(rows, namePursuit, variantAsRunAll)
		loRun, hiRun := math.Inf(1), 0.0
		for _, r := range program {
			loRun, hiRun = min(loRun, r.Multiplications), max(hiRun, r.Multiplications)
		}
		wrongRun, answersRun := wrongOf(program)
		verdict := Reproduced
		if wrong > 0 || hi > 2*lo {
			verdict = InKind
		}
		notes, weights := data.SongPlayed()
		return Note{
			Says: "Five steps of matching pursuit find G4, C5, E4, E5 and C4 in each trial, with their coefficients, by multiplications that do not grow with the song.",
			Seen: fmt.Sprintf("The notes come in this order with %v in %d of %d trials, the furthest coefficient off by %.3f; five searches take %s to %s multiplications over all lengths, one search %s to %s (%d of %d wrong), and five by the authors' program at the delta of its log %s to %s (%d of %d wrong).",
				weights, answers-wrong, answers, worst, short(lo), short(hi), short(loOne), short(hiOne), wrongOne, answersOne, short(loRun), short(hiRun), wrongRun, answersRun),
			Why: fmt.Sprintf("Sines are orthogonal over whole seconds, so the gaps are those of the weights whatever the length (%s); the grey line of a few thousand is the authors' log of one search of ten notes, that of 150k their log of five steps, at delta .3 and epsilon .2 and not the text's 1e-4; coefficients come from %d random samples, which is ours. thresher's lines, one search, end at d = %s: a collection has at most %d coordinates.",
				strings.Join(notes, " "), s.Int("coefficient samples"), short(ownFrom), collection.MaxDim),
			Verdict: verdict,
			Ours:    fmt.Sprintf("%d of %d in order; five searches %s to %s, by the program %s to %s", answers-wrong, answers, short(lo), short(hi), short(loRun), short(hiRun)),
			Theirs:  "all in order; five steps 145k to 164k",
		}
	},
}

func songRows(ctx context.Context, e *Env, s *Settings, key string, seconds, repeats, draw int) ([]Row, error) {
	song := data.NewSong(s.Int("n"), seconds, repeats)
	delta, sigma, seed := s.Float("delta"), s.Float("sigma"), pointSeed(e.Seed, key)
	notes, _ := data.SongPlayed()
	opt := papers.PursuitOptions{
		Steps: len(notes), NormsSquared: song.NormsSquared(), CoefficientPulls: s.Int("coefficient samples"), Seed: seed,
		Solve: func(ctx context.Context, arms papers.Arms, step int) (papers.Outcome, error) {
			return papers.BanditMIPS(ctx, arms, papers.BanditMIPSOptions{K: 1, Delta: delta, Sigma: sigma, Seed: seed + uint64(step)})
		},
	}
	began := time.Now()
	found, err := papers.Pursuit(ctx, song, song.Signal, opt)
	if err != nil {
		return nil, err
	}
	took := time.Since(began)
	opt.Solve = func(ctx context.Context, arms papers.Arms, step int) (papers.Outcome, error) {
		return papers.BanditMIPSAsRun(ctx, arms, papers.AsRunOptions{
			K: 1, Delta: s.Float("delta asrun"), Epsilon: s.Float("epsilon asrun"), Sigma: sigma, Seed: seed + uint64(step)})
	}
	program, err := papers.Pursuit(ctx, song, song.Signal, opt)
	if err != nil {
		return nil, err
	}
	whole := Row{
		Algorithm: namePursuit, Variant: variantWhole, Setting: fmt.Sprintf("sigma %g, delta %g a step", sigma, delta),
		Multiplications: float64(found.Pulls + found.ResidualReads), Wall: took, Answers: 1, Precision: 1,
	}
	searches := whole
	searches.Variant = variantSearches
	var worst float64
	searches.Multiplications, searches.Precision, worst = songTerms(song, found)
	asRun := whole
	asRun.Variant, asRun.Wall = variantAsRunAll, 0
	asRun.Setting = fmt.Sprintf("sigma %g, delta %g, epsilon %g a step", sigma, s.Float("delta asrun"), s.Float("epsilon asrun"))
	asRun.Multiplications, asRun.Precision, _ = songTerms(song, program)
	whole.Precision = searches.Precision
	for _, r := range []*Row{&whole, &searches, &asRun} {
		if r.Precision < 1 {
			r.Wrong = 1
		}
	}
	one := Row{Algorithm: nameBanditMIPS, Variant: variantOne, Setting: whole.Setting, Answers: 1, Precision: 1, Multiplications: float64(found.Terms[0].Search.Pulls)}
	if note := song.Note(found.Terms[0].Atom); note != notes[0] {
		one.Wrong, one.Precision = 1, 0
	}
	rows := []Row{whole, searches, one, asRun}
	if draw == 0 && song.Dim() <= s.Int("d of own lines") {
		own, err := ownSong(ctx, e, song, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, own...)
	}
	for i := range rows {
		r := &rows[i]
		r.Point, r.Data, r.Draw, r.Draws, r.N, r.D, r.K, r.X, r.Y = key, songName(seconds), draw, 1, song.Len(), song.Dim(), 1, float64(song.Dim()), r.Multiplications
	}
	rows[0].Y = worst // of the coefficients
	return rows, nil
}

// songName names the song with intervals of so many seconds.
func songName(seconds int) string { return fmt.Sprintf("SimpleSong, intervals of %d s", seconds) }

// songTerms are the multiplications of a pursuit's searches, the share of the notes that are found at their place, and what the
// furthest coefficient is off by.
func songTerms(song *data.Song, found papers.PursuitResult) (multiplications, right, worst float64) {
	notes, weights := data.SongPlayed()
	places := 0
	for p, term := range found.Terms {
		multiplications += float64(term.Search.Pulls)
		worst = max(worst, math.Abs(term.Coefficient-weights[p]))
		if song.Note(term.Atom) == notes[p] {
			places++
		}
	}
	return multiplications, float64(places) / float64(len(notes)), worst
}

// ownSong is thresher's search for the loudest note.
func ownSong(ctx context.Context, e *Env, song *data.Song, delta float64) ([]Row, error) {
	vectors, err := data.Rows(ctx, song, e.Threads)
	if err != nil {
		return nil, err
	}
	query := make([]float32, song.Dim())
	for j := range query {
		query[j] = float32(song.Signal(j))
	}
	rows, err := ownRows(ctx, e, vectors, song.Len(), song.Dim(), query, 1, 1, delta)
	return rows, err
}
