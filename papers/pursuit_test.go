package papers

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// SimpleSong (arXiv 2212.07551, appendix 12.1): intervals A and B in turn, at
// 44,100 Hz, A = C4 + 2 E4 + 3 G4 and B = 3 G4 + 2.5 C5 + 1.5 E5.
//
// Sines of whole, different frequencies below 22,050 Hz are orthogonal over a
// whole second and have squared norm 44,100/2 in it. The coefficient of a note
// over the whole song is therefore the mean of its weights in A and B:
//
//	G4 (3+3)/2 = 3,  C5 2.5/2 = 1.25,  E4 2/2 = 1,  E5 1.5/2 = .75,  C4 1/2 = .5
//
// and subtracting one note changes no other's.
const sampleRate = 44100

var (
	songNotes = []string{"C4", "E4", "G4", "C5", "E5", "G5", "D4", "F4", "A4", "B4", "D5", "F5", "A5", "B5", "C6", "C3"}
	songHertz = []int{256, 330, 392, 512, 660, 784, 294, 349, 440, 494, 587, 698, 880, 988, 1046, 128}
	songNames = []string{"G4", "C5", "E4", "E5", "C4"}
	songTerms = []float64{3, 1.25, 1, .75, .5}
)

type simpleSong struct {
	interval int // samples of one interval
	d        int
	wave     []float64 // one second of 1 Hz
}

// newSimpleSong is repeats times A and B, each of that many seconds. The paper
// says one minute but counts d = 88,200 a repeat, which is seconds = 1.
func newSimpleSong(seconds, repeats int) *simpleSong {
	s := &simpleSong{interval: seconds * sampleRate, wave: make([]float64, sampleRate)}
	s.d = 2 * s.interval * repeats
	for p := range s.wave {
		s.wave[p] = math.Sin(2 * math.Pi * float64(p) / sampleRate)
	}
	return s
}

func (s *simpleSong) sine(hertz, j int) float64 { return s.wave[hertz*(j%sampleRate)%sampleRate] }

func (s *simpleSong) signal(j int) float64 {
	if j/s.interval%2 == 0 {
		return s.sine(256, j) + 2*s.sine(330, j) + 3*s.sine(392, j)
	}
	return 3*s.sine(392, j) + 2.5*s.sine(512, j) + 1.5*s.sine(660, j)
}

func (s *simpleSong) Len() int { return len(songHertz) }
func (s *simpleSong) Dim() int { return s.d }
func (s *simpleSong) Pull(j int, arms []int, dst []float64) {
	for p, i := range arms {
		dst[p] = s.sine(songHertz[i], j)
	}
}

func (s *simpleSong) normsSquared() []float64 {
	norms := make([]float64, s.Len())
	for i := range norms {
		norms[i] = float64(s.d) / 2
	}
	return norms
}

func checkSong(t *testing.T, res PursuitResult, tolerance float64) {
	t.Helper()
	var names []string
	for p, term := range res.Terms {
		names = append(names, songNotes[term.Atom])
		if math.Abs(term.Coefficient-songTerms[p]) > tolerance {
			t.Errorf("term %d, %s: coefficient %.4f, want %v within %v", p, names[p], term.Coefficient, songTerms[p], tolerance)
		}
	}
	if !cmp.Equal(names, songNames) {
		t.Errorf("notes %v, want %v", names, songNames)
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
			song := newSimpleSong(60, repeats)
			res, err := Pursuit(context.Background(), song, song.signal, PursuitOptions{
				Steps: 5, NormsSquared: song.normsSquared(), CoefficientPulls: 40000, Seed: seed,
				Solve: func(ctx context.Context, arms Arms, step int) (Outcome, error) {
					return BanditMIPS(ctx, arms, BanditMIPSOptions{K: 1, Delta: 1e-4, Sigma: 2.5, LookEvery: 16, Seed: seed<<8 | uint64(step)})
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			checkSong(t, res, .1)
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
	song := newSimpleSong(1, 1)
	res, err := Pursuit(context.Background(), song, song.signal, PursuitOptions{
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
	checkSong(t, res, 1e-9)
	if want := int64(5 * 88200 * (len(songNotes) + 1)); res.Pulls != want {
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
	song := newSimpleSong(1, 1)
	solve := func(context.Context, Arms, int) (Outcome, error) { return Outcome{IDs: []int{2}}, nil }
	good := PursuitOptions{Steps: 1, Solve: solve, NormsSquared: song.normsSquared(), CoefficientPulls: 10}
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
		if _, err := Pursuit(context.Background(), song, song.signal, opt); !errors.Is(err, ErrPursuit) {
			t.Errorf("%s: error %v", c.name, err)
		}
	}
	if _, err := Pursuit(context.Background(), song, nil, good); !errors.Is(err, ErrPursuit) {
		t.Errorf("no signal: %v", err)
	}
	lost := good
	lost.Solve = func(context.Context, Arms, int) (Outcome, error) { return Outcome{}, ErrSigma }
	if _, err := Pursuit(context.Background(), song, song.signal, lost); !errors.Is(err, ErrSigma) {
		t.Errorf("solver's error lost: %v", err)
	}
}
