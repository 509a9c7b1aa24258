package backendtest

import (
	"fmt"
	"math"

	"thresher/backend"
	"thresher/bandit"
	"thresher/collection"
)

// Kind says why two answers to one query differ.
type Kind uint8

const (
	// Tie: the two atoms' scores are equal within the goal's epsilon and the
	// rounding that the definition of a failure allows.
	Tie Kind = iota
	// BoundFailed: the atom was dropped by a look whose bound was below its score,
	// the event whose probability delta limits.
	BoundFailed
	// StillOpen: the answer is partial, and its open bound covers the atom.
	StillOpen
	// Wrong: none of these; the backend is wrong.
	Wrong
)

func (k Kind) String() string {
	return [...]string{"tie", "bound failed", "still open", "wrong"}[k]
}

// Difference is one difference between an answer and the correct one.
type Difference struct {
	Kind Kind
	ID   int64 // the atom it is about, or -1
	// Gap is by how much the score of a tied atom exceeds the last returned one plus
	// epsilon; at most rounding if no fallible bound was used.
	Gap float64
	Why string
}

func (d Difference) String() string { return fmt.Sprintf("%v: atom %d: %s", d.Kind, d.ID, d.Why) }

// Count is how many of the differences are of kind k.
func Count(ds []Difference, k Kind) int {
	n := 0
	for _, d := range ds {
		if d.Kind == k {
			n++
		}
	}
	return n
}

// Explain lists the differences between got and want with their causes. want is the answer
// of the oracle or of another backend to the same goal; scores are always the oracle's.
func (o *Oracle) Explain(q []float32, g backend.Goal, got, want backend.Answer) []Difference {
	scores := o.Scores(q)
	out := o.malformed(q, &g, &got, scores)
	if len(out) > 0 {
		return out
	}
	have := make(map[int64]bool, len(got.IDs))
	worst := math.Inf(1) // the least returned score
	for _, id := range got.IDs {
		have[id] = true
		worst = min(worst, scores[id])
	}
	full := g.K > 0 && len(got.IDs) == g.K
	for _, id := range want.IDs {
		if have[id] {
			continue
		}
		s := scores[id]
		switch {
		case full && o.excused(q, &g, &got, int(id)):
			out = append(out, Difference{Tie, id, s - worst - g.Epsilon, fmt.Sprintf("scores %g, the last returned %g, epsilon %g", s, worst, g.Epsilon)})
		case math.Abs(s-g.Floor) <= o.Precision(q, int(id)):
			out = append(out, Difference{Tie, id, 0, fmt.Sprintf("scores %g, the floor %g", s, g.Floor)})
		case math.Abs(s-g.Ceiling) <= o.Precision(q, int(id)):
			out = append(out, Difference{Tie, id, 0, fmt.Sprintf("scores %g, the ceiling %g", s, g.Ceiling)})
		case !got.Complete() && s <= got.OpenBound+o.Precision(q, int(id)):
			out = append(out, Difference{StillOpen, id, 0, fmt.Sprintf("scores %g, open up to %g", s, got.OpenBound)})
		default:
			out = append(out, o.dropped(q, &g, &got, int(id), s))
		}
	}
	return out
}

// excused reports whether a complete answer may lack an atom: its score exceeds that of no returned
// atom by more than epsilon and rounding (docs/guarantee.md, "Failure").
func (o *Oracle) excused(q []float32, g *backend.Goal, got *backend.Answer, row int) bool {
	scores := o.Scores(q)
	for _, id := range got.IDs {
		if scores[row] > scores[id]+g.Epsilon+o.tolerance(q, row, int(id)) {
			return false
		}
	}
	return true
}

// malformed lists the errors of got that do not depend on the correct answer.
func (o *Oracle) malformed(q []float32, g *backend.Goal, got *backend.Answer, scores []float64) []Difference {
	var out []Difference
	wrong := func(id int64, format string, a ...any) {
		out = append(out, Difference{Wrong, id, 0, fmt.Sprintf(format, a...)})
	}
	if len(got.IDs) != len(got.Scores) {
		wrong(-1, "%d ids with %d scores", len(got.IDs), len(got.Scores))
		return out
	}
	if g.K > 0 && len(got.IDs) > g.K {
		wrong(-1, "%d answers to K %d", len(got.IDs), g.K)
	}
	seen := make(map[int64]bool, len(got.IDs))
	for k, id := range got.IDs {
		if id < 0 || id >= int64(len(scores)) {
			wrong(id, "there are %d", len(scores))
			continue
		}
		s, precision := scores[id], o.Precision(q, int(id))
		switch {
		case seen[id]:
			wrong(id, "returned twice")
		case !o.allows(g, int(id)):
			wrong(id, "not allowed")
		case !(math.Abs(s-got.Scores[k]) <= precision):
			wrong(id, "returned with score %g, it is %g", got.Scores[k], s)
		case s < g.Floor-precision:
			wrong(id, "scores %g, below the floor %g", s, g.Floor)
		case got.Scores[k] > g.Ceiling:
			wrong(id, "returned with score %g, above the ceiling %g", got.Scores[k], g.Ceiling)
		case k > 0 && (got.Scores[k] > got.Scores[k-1] || got.Scores[k] == got.Scores[k-1] && id < got.IDs[k-1]):
			wrong(id, "of score %g stands after atom %d of score %g", got.Scores[k], got.IDs[k-1], got.Scores[k-1])
		}
		seen[id] = true
	}
	return out
}

// dropped explains an atom that should have been returned and is neither tied nor open: the
// bound of some look must be below its score.
func (o *Oracle) dropped(q []float32, g *backend.Goal, got *backend.Answer, row int, score float64) Difference {
	id := int64(row)
	if !got.Random {
		return Difference{Wrong, id, 0, fmt.Sprintf("scores %g and is missing, though no drop was by a bound that can fail", score)}
	}
	for _, r := range got.Looks {
		l := r.Look
		switch {
		case l.Rule == backend.Martingale || l.Rule == backend.MeanRadius:
			return Difference{BoundFailed, id, 0, fmt.Sprintf("scores %g; rule %d is not recomputed", score, l.Rule)}
		case l.Rule == backend.Student && (!l.Rep.CertainWhole() || l.To < o.c.D):
			if u, slack := o.upper(q, l, row); u <= score+slack {
				return Difference{BoundFailed, id, 0, fmt.Sprintf("scores %g, its bound at coordinate %d was %g", score, l.To, u)}
			}
		}
	}
	return Difference{Wrong, id, 0, fmt.Sprintf("scores %g and is missing, though every bound of its own reaches that", score)}
}

// upper derives the Student bound of a row from docs/guarantee.md and package bandit,
// independently of package looks, so that the suite finds errors of that package. The bound
// is computed in float64 without a charge for rounding, from the product of uncoded heads
// and the product with the rest's code. slack bounds the error of float32 rotations. Bounds by
// mixed codes differ from it by a charge for rounding only, as those by panels do, so it also
// explains what such looks drop; they may keep more.
func (o *Oracle) upper(q []float32, l backend.Look, row int) (bound, slack float64) {
	c := o.c
	i := o.inverse[row]
	size, length := norm(q), o.norms[row]
	scale, vscale := unit(c.Metric, size), unit(c.Metric, length)
	if c.Centre != nil {
		size, length = o.apart(q), o.apart(c.Row(row))
	}
	var pq, pv collection.Query
	c.Prepare(&pq, q, scale, nil)
	c.Prepare(&pv, c.Row(row), vscale, nil)
	var head, dot float64
	for j, h := range pv.Head {
		head += float64(h) * float64(pq.Head[j])
	}
	head = math.Ldexp(head, pv.Exp)
	var radius float64
	if l.Rep == backend.Float32 {
		var squares, all float64
		for j, v := range pv.Rest {
			all += float64(v) * float64(v)
			if j < l.To {
				squares += float64(v) * float64(v)
				dot += float64(v) * float64(pq.Rest[j])
			}
		}
		t := bandit.Linear(bandit.Moments{A: squares, X2: squares, O2: all}, c.Kappa)
		dot = math.Ldexp(t.Scale*dot, pv.Exp)
		radius = math.Ldexp(t.UniformRadius(c.Kappa), pv.Exp)
	} else if l.Rep == backend.SignPanels {
		dot, radius = o.signPanel(i, l.To, &pq, &pv)
	} else {
		var stage *collection.Stage
		if l.Rep == backend.Signs {
			stage = &c.Stages[c.StageOf(collection.Signs)]
			for j, v := range pq.Rest {
				bit := stage.Rows[i*stage.Stride+c.R+j/8] >> (j % 8) & 1
				dot += (2*float64(bit) - 1) * float64(v)
			}
		} else {
			stage = &c.Stages[c.Stage(l.To)]
			code := c.Code(i)[c.R:]
			for j := range l.To {
				dot += float64(int(code[j])-128) * float64(pq.Rest[j])
			}
		}
		dot *= float64(stage.Scale[i])
		radius = float64(stage.Radius[i])
	}
	bound = (head+dot+radius*bandit.Reach(l.Alpha, c.Kappa, c.D)*pq.RestNorm)*math.Ldexp(1, pq.Exp) + offset(c.Metric, size, length)
	return bound, 1e-5 * size * scale * length * vscale
}

// signPanel returns the scaled product of the signs of the first width codes of atom i, in internal order, with a query
// and the least radius that this scale needs, from the atom's coordinates.
func (o *Oracle) signPanel(i, width int, q, v *collection.Query) (dot, radius float64) {
	c := o.c
	scale := float64(c.SignPanels(width).Scale[i])
	var along float64
	for j, code := range c.Code(i)[c.R:][:width] {
		sign := 1.
		if code < 128 {
			sign = -1
		}
		dot += sign * float64(q.Rest[j])
		along += sign * float64(v.Rest[j])
	}
	length := norm(v.Rest)
	if length == 0 {
		return scale * dot, 0
	}
	along /= length
	length = math.Ldexp(length, v.Exp)
	h := math.Sqrt(max(0, float64(width)-along*along))
	return scale * dot, max(scale*h, math.Abs(length-along*scale)/c.Kappa)
}

// apart is the distance between x and the centre.
func (o *Oracle) apart(x []float32) float64 {
	var s float64
	for j, m := range o.c.Centre {
		s += (float64(x[j]) - m) * (float64(x[j]) - m)
	}
	return math.Sqrt(s)
}
