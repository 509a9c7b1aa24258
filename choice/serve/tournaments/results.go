package tournaments

import (
	"unicode/utf8"

	"thresher/choice/duel"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// DecodeSpec reads the body of a request for a tournament. The errors of DecodeSpec,
// DecodeCount and DecodeResults are of type *problem.Problem.
func DecodeSpec(body []byte) (s Spec, err error) {
	err = jsonbody.Decode(body, jsonbody.Members{
		"arms": jsonbody.Array("arms", 0, func(b []byte, i int) (int, error) {
			s.Arms = append(s.Arms, "")
			return jsonbody.Text("", &s.Arms[len(s.Arms)-1])(b, i)
		}),
		"mode":          jsonbody.Text("mode", &s.Mode),
		"algorithm":     jsonbody.Optional(jsonbody.Text("algorithm", &s.Algorithm)),
		"horizon":       jsonbody.Pointer("horizon", &s.Horizon, jsonbody.Integer[int64]),
		"epsilon":       jsonbody.Pointer("epsilon", &s.Epsilon, jsonbody.Float),
		"top":           jsonbody.Pointer("top", &s.Top, jsonbody.Integer[int]),
		"delta":         jsonbody.Pointer("delta", &s.Delta, jsonbody.Float),
		"gamma":         jsonbody.Pointer("gamma", &s.Gamma, jsonbody.Float),
		"alpha":         jsonbody.Pointer("alpha", &s.Alpha, jsonbody.Float),
		"radius":        jsonbody.Optional(jsonbody.Text("radius", &s.Radius)),
		"testing":       jsonbody.Optional(jsonbody.Text("testing", &s.Testing)),
		"lease_seconds": jsonbody.Pointer("lease_seconds", &s.LeaseSeconds, jsonbody.Float),
		"seed":          jsonbody.Pointer("seed", &s.Seed, jsonbody.Integer[uint64]),
	})
	return s, err
}

func checkJudge(name string) error {
	if n := utf8.RuneCountInString(name); n > duel.MaxJudgeName {
		return problem.New(problem.InvalidValue, "judge has %d characters, not at most %d", n, duel.MaxJudgeName).In("judge").Within(duel.MaxJudgeName)
	}
	return nil
}

// DecodeCount reads the body of a request for duels: their greatest number, and who judges
// them, "" if that is not said.
func DecodeCount(body []byte) (n Wanted, err error) {
	var count *int
	err = jsonbody.Decode(body, jsonbody.Members{
		"count": jsonbody.Pointer("count", &count, jsonbody.Integer[int]),
		"judge": jsonbody.Text("judge", &n.Judge),
	})
	if err != nil {
		return n, err
	}
	if count == nil {
		return n, problem.New(problem.InvalidValue, "count is missing: how many duels at most, from 1 on").In("count").Within("1 or more")
	}
	n.Count = *count
	return n, checkJudge(n.Judge)
}

// DecodeUndo reads the body of an undo: {"duel_id": 7}, or {} for whichever judgment was the last.
func DecodeUndo(body []byte) (duel uint64, err error) {
	var id *uint64
	err = jsonbody.Decode(body, jsonbody.Members{"duel_id": jsonbody.Pointer("duel_id", &id, jsonbody.Integer[uint64])})
	switch {
	case err != nil || id == nil:
		return 0, err
	case *id == 0:
		return 0, problem.New(problem.InvalidValue, "duel_id is 0; ids begin with 1").In("duel_id").Within("1 or more")
	}
	return *id, nil
}

// Wanted is a request for duels.
type Wanted struct {
	Count int
	Judge string
}

// DecodeResults reads the body of a report: a list of {"duel_id": 7, "a_won": true}, or with
// "tie": true or "skip": true in place of the winner, and a "judge".
func DecodeResults(body []byte) (all []Verdict, err error) {
	verdicts := []string{"a_won", "tie", "skip"}
	err = jsonbody.DecodeList(body, func(b []byte, i int) (int, error) {
		var id *uint64
		var won *bool
		var v Verdict
		next, err := jsonbody.Object(jsonbody.Members{
			"duel_id": jsonbody.Pointer("duel_id", &id, jsonbody.Integer[uint64]),
			"a_won":   jsonbody.Pointer("a_won", &won, jsonbody.Bool),
			"tie":     jsonbody.Bool("tie", &v.Tie),
			"skip":    jsonbody.Bool("skip", &v.Skip),
			"judge":   jsonbody.Text("judge", &v.Judge),
		})(b, i)
		switch {
		case err != nil:
			return next, err
		case id == nil:
			return next, problem.New(problem.InvalidValue, "duel_id is missing: the id of a duel that was issued").In("duel_id").Within("1 or more")
		case won == nil && !v.Tie && !v.Skip:
			return next, problem.New(problem.InvalidValue, "a_won is missing, and neither tie nor skip is true; one of them is wanted").In("a_won").Within(verdicts)
		case v.Tie && v.Skip, won != nil && (v.Tie || v.Skip):
			return next, problem.New(problem.InvalidValue, "more than one of a_won, tie and skip is given; one is wanted").In("a_won").Within(verdicts)
		}
		if err := checkJudge(v.Judge); err != nil {
			return next, err
		}
		v.Duel = *id
		if won != nil {
			v.AWon = *won
		}
		all = append(all, v)
		return next, nil
	})
	return all, err
}
