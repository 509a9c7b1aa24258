package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"thresher/batch"
	"thresher/config"
	"thresher/dataset"
	"thresher/internal/cli"
	"thresher/tasks"
)

// certify is the verb that proves or corrects other answers.
const certify = "certify"

func newCertifyCommand(a *app) *cobra.Command {
	f := &searchFlags{verb: certify}
	cmd := &cobra.Command{
		Use:   "certify --vectors FILE --queries FILE [--metric NAME] --answers FILE",
		Short: "Prove or correct the answers of an index or a database",
		Long: `Prove or correct the answers of an index, a database or any other program.

Their vectors are the candidates of a search: scored first, they give it a threshold from
the start. The answers written to --out are those that search would give without them,
each with its certificate, --method certain unless told otherwise; the summary counts the
answers that were right, the vectors that were missing, and the stated scores that are not
the vectors' (inner products, cosines or distances in any usual form). --out, --resume and
the other flags are those of search.

Answers are in the order of the queries. Their ids are row numbers of the vectors or, where
the vectors have an id column, its ids. Without -k, k is the length of the longest answer.`,
		Example: `  thresher certify --vectors A.npy --queries Q.npy --metric cosine --answers theirs.npz --out proven.npz`,
		Args:    cli.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.scoreLimits.read(cmd.Flags())
			f.deadlineGiven = cmd.Flags().Changed("deadline")
			return a.runSearch(cmd.Context(), f)
		},
	}
	f.add(cmd.Flags())
	a.reading.add(cmd.Flags())
	f.dtype.add(cmd.Flags())
	cmd.Flags().StringVar(&f.candidates, "answers", "", "`file` of answers to certify ("+endingsOf(dataset.AnswersRead)+", .json); - is standard input")
	cmd.Flags().DurationVar(&f.deadline, "deadline", 0, "stop after this `time` and keep the rest of the answers as they are, unproven, which complete and guarantee of each say (exit code 3)")
	addSettings(cmd, searchSettings()...)
	refusePublishedFlags(cmd)
	cmd.Flags().Lookup("method").DefValue = certainByDefault
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
	case field == "min_score" && f.minGiven:
		return f.minFlag
	case field == "max_score" && f.maxGiven:
		return f.maxFlag
	case field == "min_score" && f.floorColumn != "":
		return "min-score-column"
	case field == "max_score" && f.ceilingColumn != "":
		return "max-score-column"
	}
	if name, ok := publishedFlag(field); ok {
		return name
	}
	return strings.ReplaceAll(field, "_", "-")
}

// openCandidates opens the answers whose atoms are candidates of the m queries, -1 for an
// unknown number. The caller closes them.
func (s *search) openCandidates(ctx context.Context, queries dataset.Reader, m int64) error {
	s.in.candidates.queries = s.in.queries.asked(ctx, queries, s.flags.queriesColumn, s.flags.beside()...)
	k := s.k
	if s.certified != nil && s.Config.Origin("k").Kind == config.FromDefault {
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
	m := max(len(req.Queries), len(req.Queries64)) / s.atoms.Dim
	if s.goals != nil {
		if req.Goals, err = s.goals.read(first, m); err != nil {
			return nil, err
		}
	}
	if req.Goals == nil && (s.filters != nil || s.candidates != nil) {
		req.Goals = make([]batch.QueryGoal, m)
	}
	if s.filters != nil {
		if err := s.filters.set(req.Goals, first); err != nil {
			return nil, err
		}
	}
	if s.candidates == nil {
		return nil, nil
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
		for at, id := range others[j].Rows {
			if id < 0 || id >= int64(s.atoms.N) {
				return nil, fmt.Errorf("%s: query %d: vector %d at rank %d; the vectors of %s are 0 to %d", s.in.candidates.name, first+int64(j), id, at+1, s.in.atoms.name, s.atoms.N-1)
			}
		}
		req.Goals[j].Candidates = others[j].Rows
	}
	return others, nil
}

// certification compares the answers to certify with the proven ones.
type certification struct {
	answers string // name of their file
	tasks   *tasks.Comparison
}

// prepare takes the atoms of the search.
func (c *certification) prepare(s *search) (err error) {
	c.answers = s.in.candidates.name
	c.tasks, err = newComparison(s.atoms, s.in.atoms, s.k, s.Config.Threads)
	return err
}

// newComparison returns a comparison of answers of k atoms at most, 0 for any number.
func newComparison(of *atoms, in input, k, threads int) (*tasks.Comparison, error) {
	o, err := of.oracle(false, threads)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", in.name, err)
	}
	if of.rows != nil {
		return tasks.NewComparisonOfRows(o, of.rows, max(1, k)), nil
	}
	return tasks.NewComparison(o, of.block, max(1, k)), nil
}

// compare adds the others' answers to the totals. Scores of another metric are an error.
func (c *certification) compare(ctx context.Context, t *searchTotals, part *tasks.Part) error {
	c.tasks.Resume(t.Certified, t.StatedScores)
	err := c.tasks.Add(ctx, part, nil)
	t.Certified, t.StatedScores = c.tasks.Counts()
	var of *tasks.AnswersError
	if errors.As(err, &of) {
		return &refusedError{inAnswers(c.answers, of)}
	}
	return err
}

// printCertified adds what certify found to a summary.
func printCertified(t *cli.Table, s *tasks.CertifySummary) {
	t.Row("before", s.Before())
	t.Row("corrected", s.Corrected())
	if kept := s.Unproven(); kept != "" {
		t.Row("unproven", kept)
	}
	printScores(t, s.Scores)
}
