package papers

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"thresher/papers/data"
)

// checkSong compares a pursuit of a song with what was played.
func checkSong(t *testing.T, song *data.Song, res PursuitResult, tolerance float64) {
	t.Helper()
	var names []string
	played, weights := data.SongPlayed()
	for p, term := range res.Terms {
		names = append(names, song.Note(term.Atom))
		if math.Abs(term.Coefficient-weights[p]) > tolerance {
			t.Errorf("term %d, %s: coefficient %.4f, want %v within %v", p, names[p], term.Coefficient, weights[p], tolerance)
		}
	}
	if !cmp.Equal(names, played) {
		t.Errorf("notes %v, want %v", names, played)
	}
}

// With the paper's settings (delta 1e-4, sigma 2.5) and coefficients from 40,000
// random coordinates, on minutes as the text has them: d from 5.3 to 85 million.
//
// Tolerance .1: the standard error of a coefficient is 2 sd(r_j v_j)/sqrt(40,000).
// Before the first term r_j^2 averages (7 + 8.75)/2 = 7.875 and v_j^2 <= 1, so it
// is below .028; E[r^2 v^2] - E[rv]^2 = 5.06 - 2.25 makes it .017, and later terms
// are smaller: .1 is 6 standard errors. The seeds are fixed.
func TestSimpleSongFlatInLength(t *testing.T) {
	pulls, reads := map[int]int64{}, map[int]int64{}
	lengths := []int{1, 16}
	for _, repeats := range lengths {
		for seed := range uint64(2) {
			song := data.NewSong(data.MaxNotes, 60, repeats)
			res, err := Pursuit(context.Background(), song, song.Signal, PursuitOptions{
				Steps: 5, NormsSquared: song.NormsSquared(), CoefficientPulls: 40000, Seed: seed,
				Solve: func(ctx context.Context, arms Arms, step int) (Outcome, error) {
					return BanditMIPS(ctx, arms, BanditMIPSOptions{K: 1, Delta: 1e-4, Sigma: 2.5, LookEvery: 16, Seed: seed<<8 | uint64(step)})
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			checkSong(t, song, res, .1)
			if res.Guarantee != Probabilistic || math.Abs(res.Delta-5e-4) > 1e-12 {
				t.Errorf("guarantee %v, delta %v", res.Guarantee, res.Delta)
			}
			pulls[repeats] += res.Pulls
			reads[repeats] += res.ResidualReads
		}
	}
	t.Logf("pulls %v, residual reads %v", pulls, reads)
	for name, count := range map[string]map[int]int64{"pulls": pulls, "residual reads": reads} {
		if ratio := float64(count[16]) / float64(count[1]); ratio > 1.5 || ratio < 1/1.5 {
			t.Errorf("a song 16 times as long costs %.2f times the %s", ratio, name)
		}
	}
}

// Read in full, intervals of one second, the coefficients are exact up to
// rounding, and so are the norms; nothing is left of the song but rounding.
func TestSimpleSongExact(t *testing.T) {
	song := data.NewSong(data.MaxNotes, 1, 1)
	res, err := Pursuit(context.Background(), song, song.Signal, PursuitOptions{
		Steps: 5,
		Solve: func(ctx context.Context, arms Arms, _ int) (Outcome, error) {
			scores, err := exactScores(ctx, arms, allArms(arms.Len()))
			if err != nil {
				return Outcome{}, err
			}
			ids, best := ranked(allArms(arms.Len()), scores, 1)
			return Outcome{IDs: ids, Scores: best, Pulls: int64(arms.Len() * arms.Dim())}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	checkSong(t, song, res, 1e-9)
	if want := int64(5 * 88200 * (data.MaxNotes + 1)); res.Pulls != want {
		t.Errorf("%d pulls, want %d", res.Pulls, want)
	}
	// Step t subtracts t terms at the d coordinates of its search and its projection.
	if want := int64(2 * 88200 * (0 + 1 + 2 + 3 + 4)); res.ResidualReads != want {
		t.Errorf("%d residual reads, want %d", res.ResidualReads, want)
	}
}

// An atom chosen twice is subtracted with the sum of its coefficients.
func TestPursuitRepeatsAnAtom(t *testing.T) {
	atoms, err := NewMatrix([]float32{1, 0, 1, 1}, 2, 2)
	if err != nil {
		t.Fatal(err)
	}
	r := &residual{atoms: atoms, signal: func(j int) float64 { return float64(3 + j) }}
	r.subtract(1, 2)
	r.subtract(0, 1)
	r.subtract(1, .5)
	if a, b := r.at(0), r.at(1); a != 3-1-2.5 || b != 4-2.5 {
		t.Errorf("residual %v, %v", a, b)
	}
	if len(r.chosen) != 2 {
		t.Errorf("atoms subtracted: %v", r.chosen)
	}
}

func TestPursuitErrors(t *testing.T) {
	song := data.NewSong(data.MaxNotes, 1, 1)
	solve := func(context.Context, Arms, int) (Outcome, error) { return Outcome{IDs: []int{2}}, nil }
	good := PursuitOptions{Steps: 1, Solve: solve, NormsSquared: song.NormsSquared(), CoefficientPulls: 10}
	cases := []struct {
		name   string
		change func(o *PursuitOptions)
	}{
		{"no steps", func(o *PursuitOptions) { o.Steps = 0 }},
		{"no solver", func(o *PursuitOptions) { o.Solve = nil }},
		{"negative pulls", func(o *PursuitOptions) { o.CoefficientPulls = -1 }},
		{"too few norms", func(o *PursuitOptions) { o.NormsSquared = o.NormsSquared[1:] }},
		{"norm of zero", func(o *PursuitOptions) { o.NormsSquared = make([]float64, song.Len()) }},
		{"foreign id", func(o *PursuitOptions) {
			o.Solve = func(context.Context, Arms, int) (Outcome, error) { return Outcome{IDs: []int{99}}, nil }
		}},
		{"no id", func(o *PursuitOptions) {
			o.Solve = func(context.Context, Arms, int) (Outcome, error) { return Outcome{}, nil }
		}},
	}
	for _, c := range cases {
		opt := good
		c.change(&opt)
		if _, err := Pursuit(context.Background(), song, song.Signal, opt); !errors.Is(err, ErrPursuit) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
	if _, err := Pursuit(context.Background(), song, nil, good); !errors.Is(err, ErrPursuit) {
		t.Errorf("no signal: %v", err)
	}
	lost := good
	lost.Solve = func(context.Context, Arms, int) (Outcome, error) { return Outcome{}, ErrSigma }
	if _, err := Pursuit(context.Background(), song, song.Signal, lost); !errors.Is(err, ErrSigma) {
		t.Errorf("solver's error lost: %v", err)
	}
}
