package join

import (
	"math"
)

// guesses keeps the atoms of greatest value: a heap, least first.
type guesses struct {
	most   int
	least  float32 // values up to it are not added; -Inf until there are most
	values []float32
	atoms  []uint32
}

func (g *guesses) reset(most int) {
	g.most, g.least = most, float32(math.Inf(-1))
	g.values, g.atoms = g.values[:0], g.atoms[:0]
}

// add adds an atom of a value above least.
func (g *guesses) add(v float32, atom uint32) {
	if len(g.values) < g.most {
		g.values, g.atoms = append(g.values, v), append(g.atoms, atom)
		for i := len(g.values) - 1; i > 0; {
			up := (i - 1) / 2
			if g.values[up] <= g.values[i] {
				break
			}
			g.swap(i, up)
			i = up
		}
	} else {
		g.values[0], g.atoms[0] = v, atom
		for i := 0; ; {
			down := 2*i + 1
			if down >= len(g.values) {
				break
			}
			if down+1 < len(g.values) && g.values[down+1] < g.values[down] {
				down++
			}
			if g.values[i] <= g.values[down] {
				break
			}
			g.swap(i, down)
			i = down
		}
	}
	if len(g.values) == g.most {
		g.least = g.values[0]
	}
}

func (g *guesses) swap(i, j int) {
	g.values[i], g.values[j] = g.values[j], g.values[i]
	g.atoms[i], g.atoms[j] = g.atoms[j], g.atoms[i]
}

// rows returns the row numbers of the atoms, in the memory of g.
func (g *guesses) rows(order []uint32) []uint32 {
	for i, atom := range g.atoms {
		g.atoms[i] = order[atom]
	}
	return g.atoms
}
