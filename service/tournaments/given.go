package tournaments

import (
	"slices"

	"thresher/duel"
	"thresher/service/problem"
)

// mostGiven bounds the remembered duels of calls with an idempotency key.
const mostGiven = 4096

// given holds the latest answers to calls for duels with an idempotency key, oldest first.
type given []answer

type answer struct {
	Key   string      `json:"key"`
	Count int         `json:"count"`
	Duels []duel.Duel `json:"duels"`
}

// add remembers an answer under its key, if it has one, and drops the oldest.
func (g *given) add(key string, count int, duels []duel.Duel) {
	if key == "" {
		return
	}
	*g = append(*g, answer{key, count, duels})
	total, first := 0, len(*g)-1
	for i, a := range slices.Backward(*g) {
		if total += max(len(a.Duels), 1); total > mostGiven && i < len(*g)-1 {
			break
		}
		first = i
	}
	*g = slices.Delete(*g, 0, first)
}

// bytes returns about their memory.
func (g given) bytes() int64 {
	const head, each = 64, 48 // of an answer, of a duel
	total := int64(0)
	for i := range g {
		total += head + int64(len(g[i].Key)) + each*int64(len(g[i].Duels))
	}
	return total
}

// find returns the answer under a key; nil if there is none.
func (g given) find(key string, count int) (*answer, error) {
	if key == "" {
		return nil, nil
	}
	for i := range g {
		if a := &g[i]; a.Key == key {
			if a.Count != count {
				return nil, problem.New(problem.KeyReused, "the key was used to ask for %d duels, not for %d", a.Count, count).In("Idempotency-Key")
			}
			return a, nil
		}
	}
	return nil, nil
}
