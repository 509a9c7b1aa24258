package tournaments

import (
	"thresher/duel"
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

// DecodeCount reads the body of a request for duels: their greatest number.
func DecodeCount(body []byte) (int, error) {
	var count *int
	if err := jsonbody.Decode(body, jsonbody.Members{"count": jsonbody.Pointer("count", &count, jsonbody.Integer[int])}); err != nil {
		return 0, err
	}
	if count == nil {
		return 0, problem.New(problem.InvalidValue, "count is missing: how many duels at most").In("count")
	}
	return *count, nil
}

// DecodeResults reads the body of a report: a list of {"duel_id": 7, "a_won": true}.
func DecodeResults(body []byte) (all []duel.Result, err error) {
	err = jsonbody.DecodeList(body, func(b []byte, i int) (int, error) {
		var id *uint64
		var won *bool
		next, err := jsonbody.Object(jsonbody.Members{
			"duel_id": jsonbody.Pointer("duel_id", &id, jsonbody.Integer[uint64]),
			"a_won":   jsonbody.Pointer("a_won", &won, jsonbody.Bool),
		})(b, i)
		switch {
		case err != nil:
			return next, err
		case id == nil:
			return next, problem.New(problem.InvalidValue, "duel_id is missing").In("duel_id")
		case won == nil:
			return next, problem.New(problem.InvalidValue, "a_won is missing").In("a_won")
		}
		all = append(all, duel.Result{Duel: *id, AWon: *won})
		return next, nil
	})
	return all, err
}
