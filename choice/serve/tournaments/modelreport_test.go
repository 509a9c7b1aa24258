package tournaments

import (
	"errors"
	"slices"

	"thresher/choice/duel"
	"thresher/service/problem"
)

func (m *model) check(id uint64) error {
	_, err := m.Check(duel.Result{Duel: id})
	return err
}

// checkShown is check of a duel by the id that clients see.
func (m *model) checkShown(shown uint64) (uint64, error) {
	id := m.of(shown)
	if id == 0 && shown > 0 && shown <= m.used {
		return 0, duel.ErrWithdrawn
	}
	return id, m.check(id)
}

func (m *model) take(results ...duel.Result) []duel.Receipt {
	receipts, err := m.Tournament.Report(results...)
	if err != nil {
		panic(err) // an error of the test
	}
	for _, r := range results {
		m.won[r.Duel] = r.AWon
	}
	return receipts
}

// refusal returns the problem of a list of results that is refused, and its index.
func (m *model) refusal(results []duel.Result, lenient bool) (problem.Kind, int) {
	here := map[uint64]bool{}
	for i, r := range results {
		id, err := m.checkShown(r.Duel)
		first, known := m.won[id]
		if won, ok := here[r.Duel]; ok {
			first, known = won, true
		}
		switch {
		case errors.Is(err, duel.ErrUnknown):
			return UnknownDuel, i
		case err != nil && !lenient:
			return DuelWithdrawn, i
		case err == nil && known && first != r.AWon && !lenient:
			return problem.Conflict, i
		case err == nil && !known:
			here[r.Duel] = r.AWon
		}
	}
	return "", -1
}

// report applies the results of a list that is not refused.
func (m *model) report(results []duel.Result) []Receipt {
	var fresh []duel.Result
	receipts := make([]Receipt, len(results))
	for i, r := range results {
		receipts[i].DuelID = r.Duel
		id, err := m.checkShown(r.Duel)
		r.Duel = id
		again := slices.IndexFunc(fresh, func(f duel.Result) bool { return f.Duel == r.Duel })
		var status duel.Status
		if err == nil {
			status, err = m.Check(r)
		}
		switch {
		case err != nil:
			status = duel.Void
		case again >= 0 && fresh[again].AWon == r.AWon:
			status = duel.Repeated
		case again >= 0:
			status = duel.Conflicting
		case status == duel.Accepted:
			fresh = append(fresh, r)
			status = ""
		case m.won[r.Duel] != r.AWon:
			status = duel.Conflicting
		}
		receipts[i].Status = string(status)
	}
	if len(fresh) == 0 {
		return receipts
	}
	taken := m.take(fresh...)
	for i := range receipts {
		if receipts[i].Status == "" {
			receipts[i].Status, taken = string(taken[0].Status), taken[1:]
		}
	}
	return receipts
}
