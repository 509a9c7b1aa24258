package figures

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"thresher/internal/plot"
	"thresher/papers/data"
)

const (
	setPrices      = "prices"
	setDescriptors = "descriptors"
	setPixels      = "MNIST transposed"
)

// banditMIPS4 is the paper's two wide real data sets, by stand-ins.
var banditMIPS4 = &Figure{
	ID: "banditmips-4", Paper: "BanditMIPS", Shows: "figure 4",
	Title:      "Multiplications against d on stand-ins for SIFT-1M and CryptoPairs",
	Data:       []string{setDescriptors, setPixels, setPrices},
	Needs:      []string{"mnist-t10k"},
	Algorithms: []string{nameBanditMIPS, OwnExact, OwnCertain, OwnStrict, OwnAdaptive},
	Lost:       "The data: SIFT-1M's transpose is replaced by drawn descriptors and by MNIST's pixels, prices by geometric Brownian motions.",
	Points: func(s *Settings) []Point {
		var points []Point
		add := func(name string, ds []int, sigma float64, set func(d int, seed uint64) *data.Set) {
			for _, d := range ds {
				for draw := range s.Int("draws") {
					key := fmt.Sprintf("%s d=%d draw=%d", name, d, draw)
					points = append(points, Point{Key: key, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
						return standInRows(ctx, e, s, set(d, drawSeed(e, name, draw)), key, draw, sigma)
					}})
				}
			}
		}
		add(setDescriptors, s.Ints("d of descriptors"), s.Float("sigma of SIFT"), func(d int, seed uint64) *data.Set {
			return data.Descriptors(s.Int("n of descriptors"), d, 1, seed)
		})
		add(setPrices, s.Ints("d of prices"), s.Float("sigma of prices"), func(d int, seed uint64) *data.Set {
			return data.Prices(s.Int("n of prices"), d, 1, seed)
		})
		return append(points, Point{Key: setPixels, Rows: func(ctx context.Context, e *Env) ([]Row, error) {
			path := filepath.Join(e.Folder, "mnist-t10k", "t10k-images-idx3-ubyte.gz")
			var rows []Row
			for _, d := range s.Ints("d of pixels") {
				for draw := range s.Int("draws") {
					set, err := data.Pixels(path, 0, d, 1, drawSeed(e, setPixels, draw))
					if e.Folder == "" || errors.Is(err, fs.ErrNotExist) {
						return nil, fmt.Errorf("%w: no images in %s", ErrMissing, path)
					}
					if err != nil {
						return nil, err
					}
					found, err := standInRows(ctx, e, s, set, setPixels, draw, s.Float("sigma of SIFT"))
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
		logs := mustLogged("banditmips-4")
		theirs := map[string]string{setDescriptors: "SIFT-1M", setPrices: "CryptoPairs"}
		var charts []plot.Chart
		for _, name := range dataOf(rows) {
			c := scalingChart(ofData(rows, name), fmt.Sprintf("%s (stand-in), n = %d", name, ofData(rows, name)[0].N))
			c.Series = append(c.Series, publishedLines(logs, theirs[name], func(string) bool { return true },
				func(l *logged) float64 { return float64(l.d) }, func(l *logged) float64 { return l.multiplications })...)
			charts = append(charts, c)
		}
		return append(charts, wallChart(ofData(rows, setDescriptors), "Descriptors: time of a query"))
	},
	Note: noteBanditMIPS4,
}

// standInRows searches by the text with its own sigma and with the true one, and by the authors' program, whose sigma for
// prices is a multiple of the query's median.
func standInRows(ctx context.Context, e *Env, s *Settings, set *data.Set, key string, draw int, sigma float64) ([]Row, error) {
	k, delta := s.Int("k"), s.Float("delta")
	seed := pointSeed(e.Seed, fmt.Sprintf("%s %d", key, draw))
	t, err := newContest(ctx, e, set, k)
	if err != nil {
		return nil, err
	}
	sigmas, multiplications, err := t.trueSigmas(ctx, e, seed)
	if err != nil {
		return nil, err
	}
	asRun, deltaAsRun := s.Float("sigma asrun of SIFT"), s.Float("delta asrun of SIFT")
	if set.Name == setPrices {
		asRun, deltaAsRun = s.Float("sigma asrun of prices")*max(1e-9, medianOf(t.queries[0])), s.Float("delta asrun of prices")
	}
	rows, err := t.rows(ctx, e, []int{k}, []method{
		t.text(sigma, delta, seed), t.textTrue(sigmas, multiplications, delta, seed), t.asRun(asRun, deltaAsRun, s.Float("epsilon"), seed),
	})
	if err != nil {
		return nil, err
	}
	if draw == 0 {
		t.columns = nil
		own, err := t.own(ctx, e, []int{k}, delta)
		if err != nil {
			return nil, err
		}
		rows = append(rows, own...)
	}
	return scaling(rows, t, key, draw, float64(t.d)), nil
}

func medianOf(values []float32) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return float64(sorted[len(sorted)/2])
}

func noteBanditMIPS4(_ *Settings, rows []Row) Note {
	note := Note{
		Says:    "On SIFT-1M and CryptoPairs BanditMIPS appears to scale as O(1) to a million dimensions, right in each trial.",
		Why:     "Stand-ins decide nothing about the paper's data, but the authors' logs are not flat for CryptoPairs either (.59M at 6,000 to 12.8M at 360,000, right .96 to 1), where with sigma = 2.5e9 the text reads everything, as it does the rest with 6.25e5. The true sigma of prices is that of the largest coin's moves, far below 2.5e9; how much it saves says how far the openings of the two largest coins, drawn over nine decades, are apart, and is no property of d.",
		Verdict: InKind,
		Theirs:  "SIFT-1M 122k at 10^5, 129k at 10^6 (right .92 to 1); CryptoPairs .59M at 6,000, 8.3M at 10^6 (.96 to 1)",
	}
	for _, name := range dataOf(rows) {
		of := ofData(rows, name)
		for i, variant := range []string{variantText, variantTrue, variantAsRun} {
			line := ofLine(of, nameBanditMIPS, variant)
			slope, half := exponent(line)
			last := maxX(line)
			mean, _ := meanAt(line, last)
			wrong, answers := wrongOf(line)
			if i == 0 && note.Seen != "" {
				note.Seen += "; "
			} else if i > 0 {
				note.Seen += ", "
			}
			text := fmt.Sprintf("%s exponent %.2f +- %.2f in d, %s at %s (%.0f%% of n d), %d of %d wrong", variant, slope, half, short(mean), short(last), 100*mean/(float64(line[0].N)*last), wrong, answers)
			if i == 0 {
				text = name + ": " + text
			}
			note.Seen += text
			if variant == variantTrue {
				if note.Ours != "" {
					note.Ours += "; "
				}
				note.Ours += fmt.Sprintf("%s (true sigma) %s at %s", name, short(mean), short(last))
			}
		}
	}
	note.Seen += "."
	return note
}
