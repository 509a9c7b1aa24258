//go:build cuda && cgo

package gpu

import (
	"fmt"
	"math"
	"slices"

	"thresher/backend"
)

// translated returns goals in the form that the kernels know: one excluded atom is Skip, and
// candidates, which change no answer, are left out. It refuses goals that have no such form, which
// another backend then answers.
func translated(goals []backend.Goal) ([]backend.Goal, error) {
	goals = slices.Clone(goals)
	for j := range goals {
		g := &goals[j]
		g.Candidates = nil
		if g.Skip < 0 && len(g.Exclude) == 1 {
			g.Skip, g.Exclude = int(g.Exclude[0]), nil
		}
		if len(g.Exclude) > 0 || g.From > 0 || !math.IsInf(g.Ceiling, 1) {
			return nil, fmt.Errorf("query %d: exclusions, a first atom or a ceiling: %w", j, backend.ErrRuleUnsupported)
		}
	}
	return goals, nil
}
