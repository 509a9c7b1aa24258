package tournaments

import (
	"encoding/binary"
	"hash/crc32"
	"slices"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// skip is a duel that a judge gives back.
type skip struct {
	Duel  uint64 `json:"duel"`
	Judge string `json:"judge,omitempty"`
}

// Verdict is an item of a report: a result or, with Skip, none.
type Verdict struct {
	duel.Result
	Skip bool
}

const skipped = "skipped" // status of a skip

// split separates results from skips.
func split(report []Verdict) (results []duel.Result, skips []skip) {
	for _, v := range report {
		if v.Skip {
			skips = append(skips, skip{v.Duel, v.Judge})
		} else {
			results = append(results, v.Result)
		}
	}
	return results, skips
}

// reportEvent returns the event of a report.
func reportEvent(results []duel.Result, skips []skip, receipts []duel.Receipt) event {
	e := event{Skipped: skips, Sum: sumOfReport(receipts, skips)}
	if slices.ContainsFunc(results, func(r duel.Result) bool { return r.Tie || r.Judge != "" }) {
		e.Judged = results
		return e
	}
	for _, r := range results {
		id := int64(r.Duel)
		if !r.AWon {
			id = -id
		}
		e.Results = append(e.Results, id)
	}
	return e
}

// results decodes those of a report.
func (e *event) results() []duel.Result {
	if e.Judged != nil {
		return e.Judged
	}
	results := make([]duel.Result, len(e.Results))
	for i, id := range e.Results {
		results[i] = duel.Result{Duel: uint64(max(id, -id)), AWon: id > 0}
	}
	return results
}

// checkSkips refuses skips of duels that were never issued or, unless lenient, of withdrawn
// ones; errors name the index in the report. It returns the skips that change something.
func (g *game) checkSkips(report []Verdict, lenient bool) (take []skip, err error) {
	for i, v := range report {
		if !v.Skip {
			continue
		}
		status, _, err := g.validate([]duel.Result{{Duel: v.Duel}}, true)
		if err == nil && status[0] == duel.Void && !lenient {
			err = problem.New(DuelWithdrawn, "duel %d was withdrawn", v.Duel)
		}
		if err != nil {
			return nil, problem.Of(err).At("duel_id", i)
		}
		id, _ := g.numbers.duel(v.Duel)
		if d, open := g.tournament.Duel(id); open && status[0] == "" {
			take = append(take, skip{d.ID, v.Judge})
		}
	}
	return take, nil
}

// skip gives duels back, after the results of the same report, which may have withdrawn them.
func (g *game) skip(skips []skip) error {
	for _, s := range skips {
		if g.withdrawn(duel.Duel{ID: s.Duel}) {
			continue
		}
		g.tellSkip(s)
		if err := g.tournament.Skip(s.Judge, s.Duel); err != nil {
			return err
		}
	}
	return nil
}

// atVerdict moves the index of a problem with a result to its place in the report.
func atVerdict(err error, report []Verdict) error {
	p := problem.Of(err)
	for i, n := 0, 0; i < len(report) && p.Index >= 0; i++ {
		if report[i].Skip {
			continue
		}
		if n == p.Index {
			p.Index = i
			break
		}
		n++
	}
	return p
}

func sumOfReport(receipts []duel.Receipt, skips []skip) uint32 {
	if len(skips) == 0 {
		return sumOfReceipts(receipts)
	}
	b := binary.AppendUvarint(nil, uint64(sumOfReceipts(receipts)))
	for _, s := range skips {
		b = binary.AppendUvarint(b, s.Duel)
	}
	return crc32.ChecksumIEEE(b)
}
