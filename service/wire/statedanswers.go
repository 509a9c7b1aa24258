package wire

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"thresher/batch"
	"thresher/dataset/jsonscan"
	"thresher/service/problem"
)

const fieldAnswers = "answers"

// Stated is a search together with answers to its queries that another program gave.
type Stated struct {
	*Search
	// Answers has one entry a query.
	Answers []StatedAnswer
	file    string // that the answers are of, "" for the body
}

// StatedAnswer is an answer that another program gave, best atom first.
type StatedAnswer struct {
	IDs IDList
	// Scores has one entry an id; nil if the answer states none.
	Scores []float32
}

// statedOptions are the options that hold for stated answers, too: without tolerances, the best atoms are well
// defined.
func statedOptions() []string {
	return []string{"k", "cut_k", "delta", "method", "published", "plan", "deadline_ms", "timeout_ms", "filter", "exclude", "include"}
}

// DecodeStated reads the JSON body of a request that has queries, or texts that encode makes
// into queries, and answers to them, or names files with either, which open opens; nil refuses them. Without k in the body, K is the length of the longest
// answer, and without a method the method is certain. The result does not share body's
// memory. Errors are of type *problem.Problem.
func DecodeStated(body []byte, dim int, l Limits, encode Encoder, open StatedFiles) (*Stated, error) {
	d := NewDraft(dim, l)
	st := &Stated{}
	var named statedFiles
	end, err := jsonscan.Fields(body, jsonscan.Space(body, 0), func(key []byte, at int) (int, error) {
		switch name := string(key); {
		case name == fieldQueries:
			return d.Matrix(body, at)
		case name == fieldTexts:
			return d.texts(body, at, encode)
		case name == fieldAnswers:
			if err := d.markSeen(fieldAnswers); err != nil {
				return at, err
			}
			next, err := st.read(d, body, at)
			return next, inField(err, fieldAnswers)
		case slices.Contains(fileFields(), name):
			return named.note(d, name, body, at)
		case slices.Contains(statedOptions(), name):
			return d.Option(name, body, at)
		default:
			why := ""
			if name == fieldGoals || isOption(name) {
				why = ": it is one of searches; stated answers are compared with the best of all vectors that may be returned"
			}
			name = cut(name)
			return at, problem.New(problem.UnknownField, "there is no field %q%s", name, why).In(name).
				Within(statedFields())
		}
	})
	if err == nil {
		err = nothingBehind(body, end)
	}
	if err != nil {
		return nil, problem.Unreadable(err)
	}
	if err := named.read(d, st, open); err != nil {
		return nil, err
	}
	return st, st.complete(d)
}

// read reads an array of answers at b[i].
func (st *Stated) read(d *Draft, b []byte, i int) (int, error) {
	if !starts(b, i, '[') {
		return i, mistyped(fieldAnswers, b, i, "an array of answers, one a query,")
	}
	return jsonscan.Elements(b, i, func(n, at int) (int, error) {
		if most := d.limits.Queries; most > 0 && n == most {
			return at, problem.New(problem.OverLimit, "more than %d answers; a request may have at most so many queries", most).In(fieldAnswers).Within(most)
		}
		if !starts(b, at, '[') && !starts(b, at, '{') {
			return at, element(mistyped(fieldAnswers, b, at, "an array of ids, or an object with ids and scores,"), fieldAnswers, n)
		}
		var a StatedAnswer
		next, err := a.read(b, at, d.limits)
		if err != nil {
			return next, ofAnswer(err, n)
		}
		st.Answers = append(st.Answers, a)
		if d.listed += a.IDs.Len(); d.limits.Listed > 0 && d.listed > d.limits.Listed {
			return at, problem.New(problem.OverLimit, "answers[%d]: the answers up to this one have %d ids, those of a request at most %d", n, d.listed, d.limits.Listed).
				At(fieldAnswers, n).Within(d.limits.Listed)
		}
		return next, nil
	})
}

// read reads an answer at b[i]: an array of ids, or an object with ids and scores.
func (a *StatedAnswer) read(b []byte, i int, limits Limits) (int, error) {
	if starts(b, i, '[') {
		l, next, err := ids("ids", b, i, limits.Listed)
		if err == nil {
			a.IDs = *l
		}
		return next, err
	}
	seen := map[string]bool{}
	next, err := jsonscan.Fields(b, i, func(key []byte, at int) (next int, err error) {
		name := string(key)
		if seen[name] {
			return at, problem.New(problem.InvalidValue, "%s is given twice", name).In(name)
		}
		seen[name] = true
		switch name {
		case "ids":
			v, next, err := idsKind.read(name, b, at, limits.Listed)
			if err == nil {
				a.IDs = *v.ids
			}
			return next, err
		case "scores":
			if !starts(b, at, '[') {
				return at, mistyped(name, b, at, "an array of numbers")
			}
			most := cmp.Or(limits.Listed, math.MaxInt)
			a.Scores, _, next, err = jsonscan.Rounded([]float32{}, b, at, most)
			if errors.Is(err, jsonscan.ErrTooMany) {
				return next, problem.New(problem.OverLimit, "scores has more than %d numbers, the most ids of an answer", most).In(name).Within(most)
			}
			return next, inField(err, name)
		}
		name = cut(name)
		return at, problem.New(problem.UnknownField, "there is no field %q", name).In(name).Within([]string{"ids", "scores"})
	})
	switch {
	case err != nil:
		return next, err
	case !seen["ids"]:
		return next, problem.New(problem.InvalidValue, "ids is missing").In("ids")
	case a.Scores != nil && len(a.Scores) != a.IDs.Len():
		return next, problem.New(problem.InvalidValue, "there are %d scores for %d ids", len(a.Scores), a.IDs.Len()).In("scores").Within(a.IDs.Len())
	}
	return next, nil
}

// complete fills in the search, and checks that there is an answer for each query, of k atoms
// in the longest.
func (st *Stated) complete(d *Draft) (err error) {
	if st.Search, err = d.Search(); err != nil {
		return err
	}
	if !d.seen[fieldAnswers] {
		return problem.New(problem.InvalidValue, "answers is missing").In(fieldAnswers)
	}
	if len(st.Answers) != st.M {
		return st.Wrong("there are %d answers to %d queries; one a query is wanted", len(st.Answers), st.M).Within(st.M)
	}
	longest := 0
	for j := range st.Answers {
		longest = max(longest, st.Answers[j].IDs.Len())
	}
	switch {
	case longest == 0:
		return st.Wrong("every answer is empty")
	case !d.seen["k"]:
		if st.K, err = d.limits.CheckK(int64(longest)); err != nil {
			p := st.Wrong("the longest answer has %d vectors, at most %d are accepted", longest, d.limits.K).Within(d.limits.K)
			p.Kind = problem.OverLimit
			return p
		}
	case st.K > longest:
		return problem.New(problem.InvalidValue, "k is %d, and the longest answer has %d vectors", st.K, longest).In("k").Within(longest)
	}
	if st.Method == "" {
		st.Method = batch.Certain
	}
	return nil
}

// Rows returns the row numbers of the atoms of the answers, one list a query; rows is as
// QueryGoals has it.
func (st *Stated) Rows(rows func(l *IDList, field string) ([]int64, error)) ([][]int64, error) {
	all := make([][]int64, len(st.Answers))
	for j := range all {
		var err error
		if all[j], err = rows(&st.Answers[j].IDs, "ids"); err != nil {
			return nil, st.ofAnswer(err, j)
		}
	}
	return all, nil
}

// Listed returns the number of ids in the answers.
func (st *Stated) Listed() int {
	n := 0
	for j := range st.Answers {
		n += st.Answers[j].IDs.Len()
	}
	return n
}

// Wrong returns the problem of answers that are wrong, which names their file if they are of one.
func (st *Stated) Wrong(format string, args ...any) *problem.Problem {
	if st.file == "" {
		return problem.New(problem.InvalidValue, format, args...).In(fieldAnswers)
	}
	return problem.New(problem.InvalidValue, "%s: "+format, append([]any{st.file}, args...)...).In(fieldAnswersFile)
}

// ofAnswer adds the number of the answer, and the file that it is of, to an error.
func (st *Stated) ofAnswer(err error, j int) error {
	if st.file == "" {
		return ofAnswer(err, j)
	}
	p := *problem.Of(err)
	p.Detail = fmt.Sprintf("%s: answer %d (0-based): %s", st.file, j, strings.TrimPrefix(p.Detail, "ids: "))
	p.Field, p.Index = fieldAnswersFile, j
	return &p
}

// ofAnswer adds the number of the answer to an error.
func ofAnswer(err error, j int) error { return inElement(err, fieldAnswers, j) }
