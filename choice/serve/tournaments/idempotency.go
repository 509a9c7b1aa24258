package tournaments

import (
	"fmt"
	"slices"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// maxGiven bounds the remembered duels of calls with an idempotency key.
const maxGiven = 4096

// given holds the latest answers to calls with an idempotency key, oldest first.
type given []answer

// answer is one to a call for Count duels or, if that is 0, to an undo of the judgments of the duels
// Undone, by the ids that clients saw.
type answer struct {
	Key    string      `json:"key"`
	Count  int         `json:"count"`
	Duels  []duel.Duel `json:"duels"`
	Undone []uint64    `json:"undone,omitempty"`
}

// add remembers an answer under its key, if it has one, and drops the oldest.
func (g *given) add(key string, count int, duels []duel.Duel) {
	if key == "" {
		return
	}
	g.append(answer{Key: key, Count: count, Duels: duels})
}

// append adds an answer and drops the oldest.
func (g *given) append(next answer) {
	*g = append(*g, next)
	total, first := 0, len(*g)-1
	for i, a := range slices.Backward(*g) {
		if total += max(len(a.Duels)+len(a.Undone), 1); total > maxGiven && i < len(*g)-1 {
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
		total += head + int64(len(g[i].Key)) + each*int64(len(g[i].Duels)+len(g[i].Undone))
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
				return nil, problem.New(problem.KeyReused, "the key was used %s, not %s", asked(a.Count), asked(count)).In("Idempotency-Key")
			}
			return a, nil
		}
	}
	return nil, nil
}

// asked says what a call was.
func asked(count int) string {
	if count == 0 {
		return "for an undo"
	}
	return fmt.Sprintf("to ask for %d duels", count)
}

// undo drops answers with duels after drawn, which are taken back, and those that said the end.
func (g *given) undo(drawn uint64) {
	*g = slices.DeleteFunc(*g, func(a answer) bool {
		return a.Count > 0 && (len(a.Duels) == 0 || slices.ContainsFunc(a.Duels, func(d duel.Duel) bool { return d.ID > drawn }))
	})
}
