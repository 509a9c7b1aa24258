package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/collection"
	"thresher/config"
	"thresher/dataset"
	"thresher/verify"
)

// certify is the verb that proves or corrects other answers.
const certify = "certify"

func newCertifyCommand(a *app) *cobra.Command {
	f := &searchFlags{verb: certify}
	cmd := &cobra.Command{
		Use:   "certify --atoms FILE --queries FILE --answers FILE",
		Short: "Prove or correct the answers of an index or a database",
		Long: `Prove or correct the answers of an index, a database or any other program.

Their atoms are the candidates of a search: scored first, they give it a threshold from
the start. The answers written to --out are those that search would give without them,
each with its certificate, --method certain unless told otherwise; the summary counts the
answers that were right, the atoms that were missing, and the stated scores that are not
the atoms' (inner products, cosines or distances in any usual form). --out, --resume and
the other flags are those of search.

Answers are in the order of the queries. Their ids are row numbers of the atoms or, where
the atoms have an id column, its ids. Without -k, k is the length of the longest answer.`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.runSearch(cmd.Context(), f) },
	}
	f.add(cmd.Flags())
	a.reading.add(cmd.Flags())
	cmd.Flags().StringVar(&f.candidates, "answers", "", "`file` of answers to certify (.jsonl, .npz, .npy, .parquet, .ivecs, .ibin, .json, .csv); - is standard input")
	addSettings(cmd, searchSettings()...)
	cmd.Flags().Lookup("method").Usage += "; certain unless given"
	k := cmd.Flags().Lookup("k")
	k.Usage += "; without it as many as the longest answer has"
	k.DefValue = "0" // which help leaves out
	return cmd
}

// candidatesFlag is the flag that names the candidates.
func (f *searchFlags) candidatesFlag() string {
	if f.verb == certify {
		return "answers"
	}
	return "candidates"
}

// flagOf returns the flag that gave a field of the request.
func (f *searchFlags) flagOf(field string) string {
	switch {
	case field == "candidates":
		return f.candidatesFlag()
	case field == "min_score" && !f.leastGiven && f.floorColumn != "":
		return "floor-column"
	case field == "max_score" && !f.greatestGiven && f.ceilingColumn != "":
		return "ceiling-column"
	}
	return strings.ReplaceAll(field, "_", "-")
}

// openCandidates opens the answers whose atoms are candidates of the m queries, -1 for an
// unknown number. The caller closes them.
func (s *search) openCandidates(ctx context.Context, m int64) error {
	k := s.k
	if s.certified != nil && s.config.Origin("k").Kind == config.FromDefault {
		k = 0
	}
	count, k, err := surveyAnswers(ctx, s.in.candidates, k)
	if err != nil {
		return err
	}
	s.k = k
	if m >= 0 && count != m {
		return fmt.Errorf("%s has %d answers for the %d queries of %s", s.in.candidates.name, count, m, s.in.queries.name)
	}
	s.candidates, err = openOthersAnswers(s.in.candidates)
	return err
}

// setGoals gives the queries of a request, numbered from first, their goals, and returns the
// answers that their candidates are from.
func (s *search) setGoals(req *batch.Request, first int64) (others []dataset.Result, err error) {
	m := len(req.Queries) / s.atoms.Dim
	if s.goals != nil {
		if req.Goals, err = s.goals.read(first, m); err != nil {
			return nil, err
		}
	}
	if s.candidates == nil {
		return nil, nil
	}
	if req.Goals == nil {
		req.Goals = make([]batch.QueryGoal, m)
	}
	others = make([]dataset.Result, m)
	for j := range others {
		for s.candidates.next <= first+int64(j) { // a resumed run skips those done
			if others[j], err = s.candidates.read(); err == io.EOF {
				return nil, fmt.Errorf("%s has %d answers and %s more queries", s.in.candidates.name, s.candidates.next, s.in.queries.name)
			} else if err != nil {
				return nil, err
			}
		}
		for at, id := range others[j].IDs {
			if id < 0 || id >= int64(s.atoms.N) {
				return nil, fmt.Errorf("%s: query %d: atom %d at rank %d; the atoms of %s are 0 to %d", s.in.candidates.name, first+int64(j), id, at+1, s.in.atoms.name, s.atoms.N-1)
			}
		}
		req.Goals[j].Candidates = others[j].IDs
	}
	return others, nil
}

// certification compares the answers to certify with the proven ones.
type certification struct {
	answers string // name of their file
	atoms   *collection.Collection
	recall  *verify.Recall
}

// prepare takes the atoms of the search.
func (c *certification) prepare(s *search) error {
	o, err := verify.NewOracle(s.atoms.Rows, s.atoms.Dim, s.atoms.Metric, s.config.Threads)
	if err != nil {
		return fmt.Errorf("%s: %w", s.in.atoms.name, err)
	}
	c.answers = s.in.candidates.name
	c.atoms, c.recall = s.atoms.Collection, verify.NewRecall(o, max(1, s.k))
	return nil
}

// certifiedTally counts what certify found in the answers.
type certifiedTally struct {
	Compared int64   `json:"compared"`
	Right    int64   `json:"right"`    // answers that lacked nothing and held nothing else
	Missing  int64   `json:"missing"`  // atoms that the others lacked
	Unwanted int64   `json:"unwanted"` // atoms of the others that their queries exclude or whose scores are out of bounds
	Shares   float64 `json:"shares"`   // sum of the answers' recalls
	// Scores is the check of the stated scores, nil without any.
	Scores *verify.FormCount `json:"scores,omitempty"`
}

// compare adds the others' answers to the tally. Scores of another metric are an error.
func (c *certification) compare(t *tally, req *batch.Request, others []dataset.Result, proven []batch.Answer) error {
	c.recall.ResumeScores(t.StatedScores)
	for j := range others {
		o := &others[j]
		query := req.Queries[j*c.atoms.Dim : (j+1)*c.atoms.Dim]
		ids, scores, unwanted := c.allowed(req, j, o, &proven[j])
		share, err := c.recall.Compare(o.Query, query, proven[j].IDs, ids, scores)
		if err != nil {
			return fmt.Errorf("%s: %w", c.answers, err)
		}
		t.Certified.Compared++
		t.Certified.Shares += share
		missing := int64(len(c.recall.Missed()))
		t.Certified.Missing += missing
		t.Certified.Unwanted += unwanted
		if missing == 0 && unwanted == 0 {
			t.Certified.Right++
		}
	}
	t.StatedScores = c.recall.Scores()
	found, err := t.StatedScores.Form(c.atoms.Metric)
	if err != nil {
		return &refusedError{otherMetric(c.answers, err)}
	}
	t.Certified.Scores = found
	return nil
}

// allowed returns the atoms of answer o to query j of a request that the query may have, with
// their scores, and counts the others among the first k. The query's own row, of --exclude-self,
// takes no place of the k.
func (c *certification) allowed(req *batch.Request, j int, o *dataset.Result, proven *batch.Answer) (ids []int64, scores []float32, unwanted int64) {
	goal := &req.Goals[j]
	k := cmp.Or(goal.K, req.K)
	first := func(ids []int64) []int64 {
		if k > 0 {
			return ids[:min(k, len(ids))]
		}
		return ids
	}
	kept := *o
	if req.ExcludeSelf {
		kept = withoutSelf(kept)
		for _, id := range first(o.IDs) {
			if id == o.Query {
				unwanted++
			}
		}
	}
	query := req.Queries[j*c.atoms.Dim : (j+1)*c.atoms.Dim]
	ids, scores = permitted(c.atoms, query, kept, k, cmp.Or(goal.MaxScore, req.MaxScore), goal.Exclude)
	if all := proven.IDs; k == 0 || len(all) < k {
		switch proven.Certificate.Guarantee {
		case batch.GuaranteeExact, batch.GuaranteeCertain:
			ids, scores = among(ids, scores, all) // no other atom may be returned
		}
	}
	return ids, scores, unwanted + int64(len(first(kept.IDs))-len(ids))
}

// among returns the ids that are also in all, and their scores unless these are nil.
func among(ids []int64, scores []float32, all []int64) (kept []int64, keptScores []float32) {
	known := make(map[int64]bool, len(all))
	for _, id := range all {
		known[id] = true
	}
	if scores != nil {
		keptScores = []float32{}
	}
	for at, id := range ids {
		if !known[id] {
			continue
		}
		kept = append(kept, id)
		if scores != nil {
			keptScores = append(keptScores, scores[at])
		}
	}
	return kept, keptScores
}

// print adds the tally to the summary.
func (c *certifiedTally) print(t *table) {
	t.row("before", fmt.Sprintf("recall %.4f; %d of %d answers were right", c.Shares/float64(c.Compared), c.Right, c.Compared))
	held := ""
	if c.Unwanted > 0 {
		held = fmt.Sprintf(" and held %d that may not be returned", c.Unwanted)
	}
	t.row("corrected", fmt.Sprintf("%d answers, which lacked %d atoms%s", c.Compared-c.Right, c.Missing, held))
	printScores(t, c.Scores)
}
