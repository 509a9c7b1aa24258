package wire

import (
	"errors"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"thresher/dataset"
	"thresher/dataset/jsonscan"
	"thresher/service/problem"
	"thresher/tasks"
)

// Pursuit is the content of the body of a matching pursuit, checked as far as is possible without the collection.
type Pursuit struct {
	// Signals holds M rows of finite values, row-major.
	Signals []float32
	// Signals64 are such in float64, in place of Signals by Limits.Float64.
	Signals64 []float64
	M         int
	Options   tasks.PursuitOptions // of tasks.PursuitOptions.Check
	// Deadline is the time after which the pursuit ends without an answer; 0: none.
	Deadline time.Duration
}

const fieldSignals = "signals"

// pursuitOptions are the names of the options of a pursuit: members of the body, or parameters beside a body in npy.
func pursuitOptions() []string {
	return append(ownPursuitOptions(), "method", "delta", "published", "deadline_ms")
}

// ownPursuitOptions are those that a search does not have.
func ownPursuitOptions() []string { return []string{"terms", "nonnegative"} }

// pursuitDraft is a Pursuit being decoded: a search whose queries are the signals.
type pursuitDraft struct {
	*Draft
	o tasks.PursuitOptions
}

// DecodePursuit reads the JSON body of a pursuit in a collection of dimension dim. The result does not share body's memory.
// Errors are of type *problem.Problem.
func DecodePursuit(body []byte, dim int, l Limits) (*Pursuit, error) {
	d := &pursuitDraft{Draft: NewDraft(dim, l)}
	end, err := jsonscan.Fields(body, jsonscan.Space(body, 0), func(key []byte, at int) (int, error) {
		name := string(key)
		switch {
		case name == fieldSignals:
			next, err := d.Matrix(body, at)
			return next, ofSignals(err)
		case slices.Contains(ownPursuitOptions(), name):
			if err := d.markSeen(name); err != nil {
				return at, err
			}
			v, next, err := d.kind(name).read(name, body, at, 0)
			if err != nil {
				return next, inField(err, name)
			}
			d.set(name, v)
			return next, nil
		case slices.Contains(pursuitOptions(), name):
			return d.Option(name, body, at)
		}
		return at, unknownInPursuit(name)
	})
	if err == nil {
		err = nothingBehind(body, end)
	}
	if err != nil {
		return nil, problem.Unreadable(err)
	}
	return d.pursuit()
}

// DecodePursuitNPY reads the signals from an npy matrix, as DecodeSearchNPY reads queries, and the options from query
// parameters.
func DecodePursuitNPY(body []byte, options url.Values, dim int, l Limits) (*Pursuit, error) {
	d := &pursuitDraft{Draft: NewDraft(dim, l)}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if !slices.Contains(ownPursuitOptions(), name) {
			if err := d.Text(name, options[name]); err != nil {
				return nil, err
			}
			continue
		}
		v, err := d.kind(name).parse(name, options[name])
		if err != nil {
			return nil, inField(err, name)
		}
		d.set(name, v)
	}
	signals, err := readNPY(body, d.Draft)
	if err != nil {
		return nil, ofSignals(badNPY(err))
	}
	if err := d.Rows(signals); err != nil {
		return nil, ofSignals(err)
	}
	return d.pursuit()
}

// kind is the type of an option that a search does not have.
func (d *pursuitDraft) kind(name string) kind {
	if name == "terms" {
		return integerKind
	}
	return flagKind
}

func (d *pursuitDraft) set(name string, v value) {
	if name == "terms" {
		d.o.Terms = int(v.integer)
	} else {
		d.o.Nonnegative = v.flag
	}
}

// pursuit returns the completed pursuit.
func (d *pursuitDraft) pursuit() (*Pursuit, error) {
	s, err := d.Search()
	if err != nil {
		return nil, ofSignals(err)
	}
	d.o.Method, d.o.Delta, d.o.Published = s.Method, s.Delta, s.Published
	if err := d.o.Check(); err != nil {
		return nil, problem.Of(err)
	}
	return &Pursuit{Signals: s.Queries, Signals64: s.Queries64, M: s.M, Options: d.o, Deadline: s.Deadline}, nil
}

// unknownInPursuit is the problem of a member that a pursuit does not have.
func unknownInPursuit(name string) error {
	why := ""
	if isOption(name) || name == fieldQueries || name == fieldGoals {
		why = ": it is one of searches"
	}
	return problem.New(problem.UnknownField, "there is no field %q of a pursuit%s", cut(name), why).In(cut(name)).Within(append([]string{fieldSignals}, pursuitOptions()...))
}

// ofSignals makes a problem of queries one of signals.
func ofSignals(err error) error {
	var p *problem.Problem
	if err == nil || !errors.As(err, &p) || p.Field != fieldQueries {
		return err
	}
	p.Field = fieldSignals
	p.Detail = strings.NewReplacer("queries", "signals", "query", "signal", "a search", "a pursuit").Replace(p.Detail)
	return p
}

// AppendPursued appends the terms of signal j, best first; results are appended in order. What was read for a term depends on
// codes, and is withheld.
//
//	{"ids":[7,1],"coefficients":[3,-0.5],"residuals":[1.5,0.25]}
func AppendPursued(dst []byte, j int, terms []dataset.Term, ids Naming) []byte {
	if j > 0 {
		dst = append(dst, ',')
	}
	rows := make([]int64, len(terms))
	for i := range terms {
		rows[i] = terms[i].Row
	}
	dst = appendIDs(append(dst, `{"ids":[`...), rows, ids)
	dst = append(dst, `],"coefficients":[`...)
	for i := range terms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendDouble(dst, terms[i].Coefficient)
	}
	dst = append(dst, `],"residuals":[`...)
	for i := range terms {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendDouble(dst, terms[i].Residual)
	}
	return append(dst, `]}`...)
}

// WriteTermsNPZ writes terms as dataset.WriteTerms does, without what was read for them, and with ids unless row numbers are
// the ids.
func WriteTermsNPZ(w io.Writer, terms []dataset.Term, ids Naming) error {
	t := &dataset.TermTable{Count: int64(len(terms)), WithoutPulls: true}
	of := ids.Name
	if ids.Int != nil {
		of = func(row int64) string { return strconv.FormatInt(ids.Int(row), 10) }
	}
	if of != nil {
		t.Vectors = &dataset.RowIDs{Of: of}
		for i := range terms {
			t.Vectors.Longest = max(t.Vectors.Longest, utf8.RuneCountInString(of(terms[i].Row)))
		}
	}
	return dataset.WriteTerms(w, dataset.NPZ, func(do func(m *dataset.Term) error) error {
		for i := range terms {
			if err := do(&terms[i]); err != nil {
				return err
			}
		}
		return nil
	}, t)
}
