package duel

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// maxJudges bounds the judges of whom a record is kept.
const maxJudges = 1000

// verdicts counts what was said of arms a < b: a is better, b is better, neither.
type verdicts [3]int64

func (v verdicts) sum() int64 { return v[0] + v[1] + v[2] }

// voter is the record of a judge by name. pairs have the lesser arm first.
type voter struct {
	name   string
	places places
	ties   int64
	pairs  map[pair]verdicts
}

// ballots are the records of all judges who gave a name, in the order of their first
// judgments. Memory is bounded: of more than maxJudges judges, or maxPairs pairs of all of
// them together, only the number of judgments is kept.
type ballots struct {
	judges   []*voter
	place    map[string]int
	pairs    int // of all judges together
	unlisted int64
}

// count takes a result that is told.
func (b *ballots) count(e *pendingDuel, swapped bool) {
	if e.Judge == "" || e.A == e.B {
		return
	}
	verdict := 0
	switch {
	case e.Tie:
		verdict = 2
	case e.AWon != (e.A < e.B):
		verdict = 1
	}
	b.add(e.Judge, pair{min(e.A, e.B), max(e.A, e.B)}, verdict, e.AWon != swapped)
}

// add counts a verdict of a pair, the lesser arm first. first says whether the arm shown first
// won.
func (b *ballots) add(name string, p pair, verdict int, first bool) {
	j := b.judge(name)
	if j == nil {
		b.unlisted++
		return
	}
	v, there := j.pairs[p]
	if !there {
		if b.pairs >= maxPairs {
			b.unlisted++
			return
		}
		b.pairs++
	}
	v[verdict]++
	j.pairs[p] = v
	j.places.Judged++
	if first {
		j.places.FirstWins++
	}
	if verdict == 2 {
		j.ties++
	}
}

// judge returns the record of a name, nil if there is no room for another.
func (b *ballots) judge(name string) *voter {
	if at, ok := b.place[name]; ok {
		return b.judges[at]
	}
	if len(b.judges) >= maxJudges {
		return nil
	}
	if b.place == nil {
		b.place = map[string]int{}
	}
	b.place[name] = len(b.judges)
	j := &voter{name: name, pairs: map[pair]verdicts{}}
	b.judges = append(b.judges, j)
	return j
}

// savedBallots is the serialised form of ballots.
type savedBallots struct {
	Judges   []savedJudge `json:"judges,omitempty"`
	Unlisted int64        `json:"unlisted,omitempty"`
}

type savedJudge struct {
	Name   string `json:"name"`
	Places places `json:"places"`
	// Pairs are arms a < b and the number of verdicts for a, for b and for neither.
	Pairs [][5]int64 `json:"pairs"`
}

func (b *ballots) save() *savedBallots {
	if len(b.judges) == 0 {
		return nil
	}
	s := &savedBallots{Unlisted: b.unlisted}
	for _, j := range b.judges {
		x := savedJudge{Name: j.name, Places: j.places, Pairs: [][5]int64{}}
		for _, p := range slices.SortedFunc(maps.Keys(j.pairs), comparePairs) {
			v := j.pairs[p]
			x.Pairs = append(x.Pairs, [5]int64{int64(p.a), int64(p.b), v[0], v[1], v[2]})
		}
		s.Judges = append(s.Judges, x)
	}
	return s
}

// load rejects records that save never writes, of k arms and told duels.
func (s *savedBallots) load(k int, told int64) (b ballots, err error) {
	if s == nil {
		return b, nil
	}
	if len(s.Judges) > maxJudges || s.Unlisted < 0 || s.Unlisted > told {
		return b, fmt.Errorf("%d judges, and %d judgments of others, of %d duels", len(s.Judges), s.Unlisted, told)
	}
	left := told - s.Unlisted
	b.unlisted = s.Unlisted
	for _, x := range s.Judges {
		if _, twice := b.place[x.Name]; twice || x.Name == "" || checkJudge(x.Name) != nil {
			return b, fmt.Errorf("judge %q has no name, or is there twice", x.Name)
		}
		j := b.judge(x.Name)
		j.places = x.Places
		all := int64(0)
		for _, y := range x.Pairs {
			p, ok := savedPair(y[0], y[1], k)
			v := verdicts(y[2:])
			if _, twice := j.pairs[p]; twice || !ok || min(v[0], v[1], v[2]) < 0 || max(v[0], v[1], v[2]) > left || v.sum() < 1 || v.sum() > left {
				return b, fmt.Errorf("judge %q judged arms %d and %d of %d %v times, of %d duels in all", x.Name, y[0], y[1], k, y[2:], told)
			}
			left -= v.sum()
			all += v.sum()
			j.ties += v[2]
			j.pairs[p] = v
			if b.pairs++; b.pairs > maxPairs {
				return b, fmt.Errorf("judges judged more than %d pairs", maxPairs)
			}
		}
		if w := x.Places; w.Judged != all || w.FirstWins < 0 || w.FirstWins > all {
			return b, fmt.Errorf("judge %q: the arm shown first won %d of %d duels, of %d in all", x.Name, w.FirstWins, w.Judged, all)
		}
	}
	return b, nil
}

// JudgeRecord is what is known of a judge.
type JudgeRecord struct {
	Judge     string `json:"judge"`
	Judgments int64  `json:"judgments"` // that counted, of two different arms
	Ties      int64  `json:"ties"`
	// Lean is nil unless the order is random. A tie counts as its coin.
	Lean *Lean `json:"lean,omitempty"`
	// Agreement is nil if the judge shares no pair with another.
	Agreement *Agreement `json:"agreement,omitempty"`
}

// Dispute is a pair of arms of which several judges think differently.
type Dispute struct {
	A      int   `json:"a"`
	B      int   `json:"b"`
	Judges int   `json:"judges"`
	AWins  int64 `json:"a_wins"`
	BWins  int64 `json:"b_wins"`
	Ties   int64 `json:"ties"`
}

// outvoted returns the judgments that differ from the most frequent verdict.
func (d *Dispute) outvoted() int64 { return d.AWins + d.BWins + d.Ties - max(d.AWins, d.BWins, d.Ties) }

// Judges is what is known of the judges of a tournament who gave a name.
type Judges struct {
	Judges []JudgeRecord `json:"judges"` // in the order of their first judgments
	// Disputed are the pairs, at most ten, that several judges judged and of which the most
	// judgments differ from the most frequent verdict.
	Disputed []Dispute `json:"disputed"`
	// Unlisted judgments are in no record: those of further judges after the first
	// maxJudges, and those of further pairs after 65,536 pairs of a judge.
	Unlisted int64 `json:"unlisted,omitempty"`
}

// Judges returns the records of judges, nil if none gave a name.
func (t *Tournament) Judges() *Judges {
	return t.ballots.report(t.config.Order == RandomOrder)
}

func (b *ballots) report(leans bool) *Judges {
	if len(b.judges) == 0 {
		return nil
	}
	all := map[pair]*Dispute{}
	for _, j := range b.judges {
		for p, v := range j.pairs {
			d := all[p]
			if d == nil {
				d = &Dispute{A: p.a, B: p.b}
				all[p] = d
			}
			d.Judges++
			d.AWins, d.BWins, d.Ties = d.AWins+v[0], d.BWins+v[1], d.Ties+v[2]
		}
	}
	r := &Judges{Unlisted: b.unlisted, Disputed: []Dispute{}}
	for _, j := range b.judges {
		x := JudgeRecord{Judge: j.name, Judgments: j.places.Judged, Ties: j.ties, Agreement: j.agreement(all)}
		if leans {
			x.Lean = j.places.lean()
		}
		r.Judges = append(r.Judges, x)
	}
	for _, d := range all {
		if d.Judges > 1 && d.outvoted() > 0 {
			r.Disputed = append(r.Disputed, *d)
		}
	}
	slices.SortFunc(r.Disputed, func(x, y Dispute) int {
		return cmp.Or(cmp.Compare(y.outvoted(), x.outvoted()), cmp.Compare(x.AWins+x.BWins+x.Ties, y.AWins+y.BWins+y.Ties), comparePairs(pair{x.A, x.B}, pair{y.A, y.B}))
	})
	r.Disputed = r.Disputed[:min(len(r.Disputed), maxShown)]
	return r
}
