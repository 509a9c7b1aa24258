package slates

import (
	"math"
	"slices"
	"unicode/utf8"

	"thresher/choice/serve/choiceapi"
	"thresher/choice/slate"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// Algorithm is the method of choosing a slate.
type Algorithm string

// The algorithms: one with a guarantee under all limits, and two simpler and faster ones.
const (
	AFSM     Algorithm = "afsm"
	LSB      Algorithm = "lsb"
	Modified Algorithm = "mod"
)

// algorithms lists them, the default first.
func algorithms() []Algorithm { return []Algorithm{AFSM, LSB, Modified} }

// Limits bound a request; 0 means no limit.
type Limits struct {
	// Former, if not nil, is told of a field that is given by the name that it had before.
	Former  func(name string)
	Users   int // of one request for slates, and slates of one request with feedback
	K       int // items of a slate
	Results int // users times K
}

// maxUser bounds the text of a user, in characters.
const maxUser = 256

// Request is an choiceapi.SlateRequest whose defaults are filled in.
type Request = choiceapi.SlateRequest

const (
	defaultK       = 10
	defaultDelta   = 0.1
	defaultEpsilon = 0.2
	// Deadlines in milliseconds, from a microsecond to a day.
	minDeadline, maxDeadline = 1e-3, 86_400_000
)

// DecodeRequest reads the body of a request for slates. Errors are of type *problem.Problem.
func DecodeRequest(body []byte, l Limits) (*Request, error) {
	r := &Request{K: defaultK, Algorithm: string(AFSM), Delta: defaultDelta, Epsilon: defaultEpsilon}
	if l.K > 0 {
		r.K = min(r.K, l.K)
	}
	most := l.K
	if most == 0 {
		most = math.MaxInt32
	}
	former := 0. // the deadline by its former name
	deadline := func(name string, to *float64) jsonbody.Reader {
		return jsonbody.Number(name, to, "[0.001, 86400000]", func(x float64) bool { return x >= minDeadline && x <= maxDeadline })
	}
	err := jsonbody.Decode(body, jsonbody.Members{
		"users":        usersMember(&r.Users, l),
		"k":            jsonbody.Int("k", &r.K, 1, most),
		"budgets":      jsonbody.Numbers("budgets", maxCosts, &r.Budgets, "(0, 1e60]", func(x float64) bool { return x > 0 && x <= slate.MaxMagnitude }),
		"group_limits": groupLimits(&r.GroupLimits),
		"algo":         jsonbody.Text("algo", &r.Algorithm),
		"delta":        jsonbody.Number("delta", &r.Delta, "(0, 1)", func(x float64) bool { return x > 0 && x < 1 }),
		"eps":          jsonbody.Number("eps", &r.Epsilon, "[0.01, 10]", func(x float64) bool { return x >= 0.01 && x <= 10 }),
		"deadline_ms":  deadline("deadline_ms", &r.DeadlineMS),
		"timeout_ms":   deadline("timeout_ms", &former),
	})
	if err != nil {
		return nil, err
	}
	if former > 0 && r.DeadlineMS > 0 {
		return nil, problem.New(problem.InvalidValue, "timeout_ms and deadline_ms are one field, whose name is deadline_ms").In("timeout_ms")
	}
	if former > 0 {
		r.DeadlineMS = former
		if l.Former != nil {
			l.Former("timeout_ms")
		}
	}
	if len(r.Users) == 0 {
		return nil, problem.New(problem.InvalidValue, "users is empty").In("users")
	}
	if !slices.Contains(algorithms(), Algorithm(r.Algorithm)) {
		return nil, problem.New(problem.UnknownMethod, "algo %q is none of %v", jsonbody.Clip(r.Algorithm), algorithms()).In("algo").Within(algorithms())
	}
	if l.Results > 0 && len(r.Users)*r.K > l.Results {
		return nil, problem.New(problem.OverLimit, "%d users with k = %d may get %d items, a request may have at most %d", len(r.Users), r.K, len(r.Users)*r.K, l.Results).
			In("k").Within(l.Results)
	}
	return r, nil
}

// user reads the id of a user.
func user(b []byte, i int) (ID, int, error) {
	u, next, err := readID(b, i)
	if n := utf8.RuneCountInString(u.Name); err == nil && u.Text && (n == 0 || n > maxUser) {
		err = problem.New(problem.InvalidValue, " has %d characters, a user has 1 to %d", n, maxUser)
	}
	return u, next, err
}

// groupLimits reads an object of integers.
func groupLimits(dst *map[string]int) jsonbody.Reader {
	return jsonbody.Map("group_limits", "an object", maxGroups, dst, func(name string, dst *int) jsonbody.Reader {
		return jsonbody.Int(name, dst, 0, math.MaxInt32)
	})
}

// DecodeFeedback reads the body of feedback, which is that of one slate or contains a list;
// one says which. Errors are of type *problem.Problem.
func DecodeFeedback(body []byte, l Limits) (all []Feedback, one bool, err error) {
	var f Feedback
	members := rewarded(&f)
	many := false
	members["feedback"] = func(b []byte, i int) (int, error) {
		many = true
		return jsonbody.Array("feedback", l.Users, func(b []byte, at int) (int, error) {
			var f Feedback
			next, err := jsonbody.Object(rewarded(&f))(b, at)
			if err == nil {
				err = checkFeedback(&f)
			}
			all = append(all, f)
			return next, err
		})(b, i)
	}
	if err := jsonbody.Decode(body, members); err != nil {
		return nil, false, err
	}
	switch {
	case many && (f.ID != "" || f.Rewards != nil):
		return nil, false, problem.New(problem.InvalidValue, "feedback is of one slate or a list, not both").In("feedback")
	case many && len(all) == 0:
		return nil, false, problem.New(problem.InvalidValue, "feedback is empty").In("feedback")
	case many:
		return all, false, nil
	}
	if err := checkFeedback(&f); err != nil {
		return nil, false, err
	}
	return []Feedback{f}, true, nil
}

// maxRewards bounds the rewards that are read; later they are checked against the slate's
// length.
const maxRewards = 1 << 16

func rewarded(f *Feedback) jsonbody.Members {
	return jsonbody.Members{
		"slate_id": jsonbody.Text("slate_id", &f.ID),
		"rewards":  jsonbody.Numbers("rewards", maxRewards, &f.Rewards, "[0, 1]", func(x float64) bool { return x >= 0 && x <= 1 }),
	}
}

// checkFeedback refuses feedback with missing members.
func checkFeedback(f *Feedback) error {
	switch {
	case f.ID == "":
		return problem.New(problem.InvalidValue, "slate_id is missing").In("slate_id")
	case f.Rewards == nil:
		return problem.New(problem.InvalidValue, "rewards is missing").In("rewards")
	case len(f.Rewards) == 0:
		return problem.New(problem.InvalidValue, "rewards is empty; a slate of which nothing was examined needs no feedback").In("rewards")
	}
	return nil
}
