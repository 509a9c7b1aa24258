package tasks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/join"
)

// PairOptions say which pairs are wanted.
type PairOptions struct {
	join.PairOptions
	// With, if not nil, is another table, whose rows are compared with the vectors; otherwise these are
	// compared with each other. The caller closes it.
	With dataset.Reader
	// MaxPairs, if positive, bounds the pairs: more are a *PairLimitError.
	MaxPairs int64
}

// PairLimitError says that there are more pairs than are wanted.
type PairLimitError struct {
	Limit int64
	// Pairs is how many the first Rows of Total rows have; Total is -1 if it is unknown.
	Pairs, Rows, Total int64
}

func (e *PairLimitError) Error() string {
	return fmt.Sprintf("%d pairs among %s, and %d are allowed", e.Pairs, e.Among(), e.Limit)
}

// Among says in words which rows have been compared.
func (e *PairLimitError) Among() string {
	if e.Total < 0 {
		return fmt.Sprintf("the first %d rows", e.Rows)
	}
	return fmt.Sprintf("the first %d of %d rows", e.Rows, e.Total)
}

// PairCounts are the counts of a run, in the form in which one that can be resumed keeps them. Their
// names are those of earlier runs.
type PairCounts struct {
	Pairs int64         `json:"pairs"`
	Nanos int64         `json:"nanos"` // of the search
	Work  join.PairWork `json:"work"`
}

// PairsFound says which pairs were found, and what is guaranteed of them.
type PairsFound struct {
	Rows      int64   `json:"rows"` // compared with the vectors: themselves, or those of another table
	Metric    string  `json:"metric"`
	MinScore  float64 `json:"min_score"`
	Method    string  `json:"method"`
	Guarantee string  `json:"guarantee"`
	Law       string  `json:"law,omitempty"` // of rows whose guarantee is probabilistic
	Promise   string  `json:"promise"`       // of all pairs, in words
	// Rounded is the largest change of a coordinate of the rows that float32 does not hold.
	Rounded  float64 `json:"rounded,omitempty"`
	Delta    float64 `json:"delta"`
	Pairs    int64   `json:"pairs"`
	Expected float64 `json:"pairs_expected,omitempty"` // by a sample, before the search
	// RowsExact counts the rows for which no vector was dropped by a bound that can fail, RowsOpen
	// those that are not finished, which is 0 at the end of a run.
	RowsExact int64 `json:"rows_exact"`
	RowsOpen  int64 `json:"rows_open"`
	// PairsPerRow is the distribution of the pairs of a vector, PairsPerRowWith of a row of the other
	// table; nil if nobody counted them (PairShape).
	PairsPerRow     *Degrees `json:"pairs_per_row,omitempty"`
	PairsPerRowWith *Degrees `json:"pairs_per_row_with,omitempty"`
	// Components are what the pairs connect, if somebody wanted to know.
	Components ComponentCounts `json:"components,omitzero"`
}

// Reach says in words what the pairs have that are wanted.
func (f *PairsFound) Reach() string {
	if m, err := collection.ParseMetric(f.Metric); err == nil && m.Differences() {
		return fmt.Sprintf("are at most %g apart (squared distance)", f.MinScore)
	}
	return fmt.Sprintf("score at least %g", f.MinScore)
}

// PairsRead is the work for pairs.
type PairsRead struct {
	Pulls int64 `json:"pulls"`
	// Saving is by what factor fewer coordinates were read than by comparing every pair once.
	Saving     float64 `json:"saving"`
	BytesRead  int64   `json:"bytes_read"`
	RowsScored int64   `json:"rows_scored"`
	Again      int64   `json:"searched_again"` // searches for rows in many pairs, after the first
}

// PairsSummary is what came of a search for pairs.
type PairsSummary struct {
	PairsFound
	PairsRead
	// Warnings say why what is found may not be what is alike.
	Warnings []string `json:"warnings,omitempty"`
}

// PairSearch finds pairs block by block, so that it can be resumed: a jobs.Source, whose blocks are
// counted by Add. It is not safe for concurrent use.
type PairSearch struct {
	*join.PairSource
	atoms    *collection.Collection
	o        PairOptions
	sample   *join.Density
	expected float64
	foreseen bool // expected is known
	counts   PairCounts
	warning  string // of the metric, "" for none
}

// NewPairSearch estimates from a sample of the vectors of e how many pairs there are. Errors in the
// options are *batch.RequestError.
func NewPairSearch(ctx context.Context, e *batch.Engine, o PairOptions) (*PairSearch, error) {
	c := e.Collection()
	s := &PairSearch{atoms: c, o: o, warning: join.LikenessWarning(c)}
	var err error
	if s.sample, err = join.Sample(ctx, e, o.PairOptions); err != nil {
		return nil, err
	}
	if o.With != nil {
		s.PairSource, err = join.TablePairs(e, o.With, o.PairOptions, s.sample)
		return s, err
	}
	s.expected, _ = s.sample.Pairs()
	s.foreseen = true
	s.PairSource, err = join.SelfPairs(e, o.PairOptions, s.sample)
	return s, err
}

// Total is how many rows are compared with the vectors, -1 if that is unknown.
func (s *PairSearch) Total() int64 {
	if s.o.With != nil {
		return s.o.With.Len()
	}
	if s.o.Filter != nil {
		return int64(len(s.o.Filter))
	}
	return int64(s.atoms.N)
}

// PairForecast is how many pairs of the vectors are expected, by a sample.
type PairForecast struct {
	Pairs  float64
	About  string // Pairs, in words
	Sample int    // rows of it
	// TooMany says that there are more than MaxPairs, almost certainly; Share that a great share of all pairs is
	// expected.
	TooMany, Share bool
}

// Forecast tells what the sample says of the vectors' pairs with each other.
func (s *PairSearch) Forecast() PairForecast {
	pairs, deviation := s.sample.Pairs()
	f := PairForecast{Pairs: pairs, About: fmt.Sprintf("about %.2g", pairs), Sample: len(s.sample.Counts)}
	if s.sample.Limited() {
		f.About = fmt.Sprintf("more than %.2g", pairs)
	}
	limit := float64(s.o.MaxPairs)
	f.TooMany = limit > 0 && (pairs-deviation > limit || s.sample.Limited() && pairs > limit)
	n := float64(s.sample.N)
	f.Share = pairs > n*(n-1)/2/50 && pairs > 1e6
	return f
}

// Resume goes on from the counts of an earlier run.
func (s *PairSearch) Resume(counts PairCounts) { s.counts = counts }

// Counts returns the counts so far, for Resume.
func (s *PairSearch) Counts() PairCounts { return s.counts }

// Add counts a block that took so long to find.
func (s *PairSearch) Add(b *join.PairBlock, took time.Duration) error {
	s.counts.Pairs += int64(len(b.Pairs))
	s.counts.Nanos += int64(took)
	s.counts.Work.Add(&b.Work)
	if limit := s.o.MaxPairs; limit > 0 && s.counts.Pairs > limit {
		return &PairLimitError{Limit: limit, Pairs: s.counts.Pairs, Rows: s.counts.Work.Rows, Total: s.Total()}
	}
	if total := s.Total(); !s.foreseen && total > s.counts.Work.Rows {
		s.expected = float64(s.counts.Pairs) / float64(s.counts.Work.Rows) * float64(total)
	}
	s.foreseen = true
	return nil
}

// Expected is how many pairs there are, by the sample, or by the first rows of another table; 0 if that is
// unknown.
func (s *PairSearch) Expected() float64 { return s.expected }

// Summary describes what was found so far. shape, unless nil, has the pairs.
func (s *PairSearch) Summary(shape *PairShape) *PairsSummary {
	w := &s.counts.Work
	promises := Promises{Guarantees: w.Guarantees, Laws: w.Laws, Delta: s.o.Delta, Rounded: max(w.VectorsChange, w.OthersChange)}
	p := &PairsSummary{
		PairsFound: PairsFound{
			Rows: w.Rows, Metric: s.atoms.Metric.String(), MinScore: s.o.MinScore,
			Method: joined(ranked(w.Methods)), Guarantee: promises.Guarantee(), Law: promises.Law(), Promise: promises.Say(AllPairs), Rounded: promises.Rounded,
			Delta: s.o.Delta, Pairs: s.counts.Pairs, Expected: s.expected, RowsExact: w.Exact,
		},
		PairsRead: PairsRead{Pulls: w.Pulls, Saving: batch.Stats{Pulls: w.Pulls, DensePulls: w.DensePulls}.Saving(), BytesRead: w.Bytes, RowsScored: w.RowsScored, Again: w.Again},
	}
	if s.warning != "" {
		p.Warnings = []string{s.warning}
	}
	if shape != nil {
		shape.describe(&p.PairsFound)
	}
	return p
}

// Pairs finds all pairs and passes them block by block, each pair once, to visit, so that they are never all in
// memory. progress, if not nil, is told of the rows compared and their total, -1 if that is unknown. Errors are
// those of ctx, of the search (*PairLimitError and *join.RowError among them) and of visit.
func Pairs(ctx context.Context, s *PairSearch, progress func(done, total int64), visit func([]dataset.Pair) error) (*PairsSummary, error) {
	for {
		begun := time.Now()
		b, _, err := s.Next(ctx)
		if errors.Is(err, io.EOF) {
			return s.Summary(nil), nil
		}
		if err == nil {
			err = s.Add(&b, time.Since(begun))
		}
		if err == nil {
			err = visit(b.Pairs)
		}
		if err != nil {
			return nil, err
		}
		if progress != nil {
			progress(s.counts.Work.Rows, s.Total())
		}
	}
}

// PairShape describes the graph whose edges are pairs, which are added one by one.
type PairShape struct {
	rows       [2]int64
	degrees    [2][]uint32 // pairs of each row of the vectors, and of the other table; nil without one
	components *join.Components
}

// NewPairShape begins the shape of pairs of vectors or, if with is not 0, of vectors and as many rows of
// another table; with components if they are wanted.
func NewPairShape(vectors, with int64, components bool) (*PairShape, error) {
	s := &PairShape{rows: [2]int64{vectors, with}, degrees: [2][]uint32{make([]uint32, vectors)}}
	if with > 0 {
		s.degrees[1] = make([]uint32, with)
	}
	var err error
	if components {
		s.components, err = join.NewComponents(vectors + with)
	}
	return s, err
}

// Add adds a pair.
func (s *PairShape) Add(p *dataset.Pair) {
	s.degrees[0][p.A]++
	b := p.B
	if s.degrees[1] != nil {
		s.degrees[1][b]++
		b += s.rows[0]
	} else {
		s.degrees[0][b]++
	}
	if s.components != nil {
		s.components.Connect(p.A, b)
	}
}

// Members are the rows with their components, those of the other table after the vectors, by the names that they
// have in their tables.
func (s *PairShape) Members(ctx context.Context, vectors, with *dataset.IDs) dataset.EachMember {
	labels := s.components.Labels()
	names := [2]*dataset.IDs{vectors, with}
	return func(do func(m *dataset.Member) error) error {
		var m dataset.Member
		for node := range int64(len(labels)) {
			if node%(1<<16) == 0 && ctx.Err() != nil {
				return ctx.Err()
			}
			side := 0
			m.Row, m.Side, m.Name = node, "", ""
			if s.degrees[1] != nil {
				m.Side = "a"
				if node >= s.rows[0] {
					side, m.Side, m.Row = 1, "b", node-s.rows[0]
				}
			}
			if names[side] != nil {
				m.Name = names[side].Text(m.Row)
			}
			m.Component = s.components.Of(node)
			m.Size, m.Label, m.Keep = s.components.Size(node), labels[node], m.Component == node
			if err := do(&m); err != nil {
				return err
			}
		}
		return nil
	}
}

// describe fills in what the shape knows, once it has all pairs.
func (s *PairShape) describe(f *PairsFound) {
	if c := s.components; c != nil {
		f.Components.Count, f.Components.Largest = c.Count()
		f.Components.Surplus = s.rows[0] + s.rows[1] - f.Components.Count
	}
	of := degreesOf(s.degrees[0])
	f.PairsPerRow = &of
	if s.degrees[1] != nil {
		of := degreesOf(s.degrees[1])
		f.PairsPerRowWith = &of
	}
}

// ComponentCounts describe the connected components of pairs.
type ComponentCounts struct {
	Count   int64 `json:"count"`   // single rows included
	Largest int64 `json:"largest"` // rows
	Surplus int64 `json:"surplus"` // rows that go if one of each component is kept
}

// Degrees is the distribution of the number of pairs that rows are in.
type Degrees struct {
	Without int64   `json:"rows_without"`
	Mean    float64 `json:"mean"`
	Median  uint32  `json:"median"`
	P99     uint32  `json:"p99"`
	Max     uint32  `json:"max"`
}

// degreesOf describes counts, which it sorts.
func degreesOf(counts []uint32) (d Degrees) {
	if len(counts) == 0 {
		return d
	}
	slices.Sort(counts)
	sum := 0.
	for _, n := range counts {
		sum += float64(n)
		if n == 0 {
			d.Without++
		}
	}
	last := len(counts) - 1
	d.Mean = sum / float64(len(counts))
	d.Median, d.P99, d.Max = counts[last/2], counts[last*99/100], counts[last]
	return d
}

// String describes the distribution in words.
func (d *Degrees) String() string {
	return fmt.Sprintf("%.3g on average, median %d, 99%% at most %d, at most %d; %d in none", d.Mean, d.Median, d.P99, d.Max, d.Without)
}
