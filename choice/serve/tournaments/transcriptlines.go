package tournaments

import (
	"time"

	"thresher/choice/duel"
)

// told is what a call did, as clients saw it, with arms by their indices: a line of a transcript.
type told struct {
	Call    uint64        `json:"call"`
	At      int64         `json:"t,omitempty"` // of a call for duels, Unix nanoseconds
	Judge   string        `json:"w,omitempty"` // of a call for duels
	Issued  []toldDuel    `json:"i,omitempty"`
	Coins   int           `json:"n,omitempty"` // duels of an arm against itself
	Judged  []toldVerdict `json:"j,omitempty"`
	Skipped []toldVerdict `json:"s,omitempty"`
	Undone  []uint64      `json:"u,omitempty"`
}

// toldDuel is a duel by the id that clients know.
type toldDuel struct {
	Duel uint64 `json:"d"`
	A    int    `json:"a"`
	B    int    `json:"b"`
}

// toldVerdict is a judgment of a duel, or a skip.
type toldVerdict struct {
	toldDuel
	AWon  bool   `json:"x,omitempty"`
	Tie   bool   `json:"e,omitempty"`
	Judge string `json:"w,omitempty"`
}

// tellDuels notes what a call for duels did.
func (g *game) tellDuels(judge string, at time.Time, duels []duel.Duel, coins int) {
	g.told = told{At: at.UnixNano(), Judge: judge, Coins: coins}
	for _, d := range duels {
		g.told.Issued = append(g.told.Issued, toldDuel{g.numbers.shown(d.ID), d.A, d.B})
	}
}

// tellResults notes the results of a report, before they are counted.
func (g *game) tellResults(results []duel.Result) {
	g.told = told{}
	for _, r := range results {
		g.told.Judged = append(g.told.Judged, toldVerdict{g.tellDuel(r.Duel), r.AWon, r.Tie, r.Judge})
	}
}

// tellSkip notes a skip of a report, before the duel is given back.
func (g *game) tellSkip(s skip) {
	g.told.Skipped = append(g.told.Skipped, toldVerdict{toldDuel: g.tellDuel(s.Duel), Judge: s.Judge})
}

// tellDuel returns an open duel of the tournament.
func (g *game) tellDuel(id uint64) toldDuel {
	d, _ := g.tournament.Duel(id)
	return toldDuel{g.numbers.shown(id), d.A, d.B}
}
