package arms

import (
	"context"
	"thresher/cpu/threads"
)

// givenChunk is the number of given candidates that are scored between two checks of the context.
const givenChunk = 1024

const (
	// sampleFrom is the least number of given candidates of which a sample is scored first, and
	// sampleStep the reciprocal of its share.
	sampleFrom, sampleStep = 32, 12
)

// orderGiven lists in given the candidates that the goal names in the order in which they are scored
// before all other atoms: first a sample of them. A search for all atoms that reach a floor has no
// use for them and treats them as the others.
func (s *Query) orderGiven() {
	if s.Goal.K == 0 {
		s.Goal.Candidates = nil
	}
	all := s.Goal.Candidates
	s.Given, s.Sample = s.Given[:0], 0
	if len(all) < sampleFrom || len(all) > givenChunk {
		s.Given = append(s.Given, all...)
		return
	}
	for k := 0; k < len(all); k += sampleStep {
		s.Given = append(s.Given, all[k])
	}
	s.Sample = len(s.Given)
	for k, i := range all {
		if k%sampleStep != 0 {
			s.Given = append(s.Given, i)
		}
	}
}

// ScoreGiven scores the given candidates of queries js that are not scored yet: all of them or, if a
// look follows whose first chunk decides about the others, samples only. After an error of ctx it
// continues where it stopped.
func (x *Batch) ScoreGiven(ctx context.Context, js []int, samples bool) error {
	var due []int
	for _, j := range js {
		if s := &x.Queries[j]; s.Phase != HasLeft && s.givenScored < s.givenDue(samples) {
			due = append(due, j)
		}
	}
	if len(due) == 0 {
		return nil
	}
	return x.Each(ctx, len(due), func(w *threads.Scratch, at int) error {
		s := &x.Queries[due[at]]
		for s.ScoreSomeGiven(w, min(givenChunk, s.givenDue(samples)-s.givenScored)) < s.givenDue(samples) {
			if err := x.Checkpoint(ctx, len(due)); err != nil {
				return err
			}
		}
		return nil
	})
}

// GivenLeft is how many given candidates are not scored.
func (s *Query) GivenLeft() int { return len(s.Given) - s.givenScored }

// KeepSample makes the given candidates beyond the sample atoms like all others.
func (s *Query) KeepSample() {
	s.Given = s.Given[:s.Sample]
	s.Goal.Candidates = s.Given
	s.BestGiven = append(s.BestGiven[:0], s.Best.All()...)
	s.hideAtoms()
}

// givenDue is how many of the given candidates ScoreGiven scores.
func (s *Query) givenDue(samples bool) int {
	if samples && s.Sample > 0 {
		return s.Sample
	}
	return len(s.Given)
}

// ScoreSomeGiven scores the next n given candidates, if there are so many, and returns how many are
// scored now.
func (s *Query) ScoreSomeGiven(w *threads.Scratch, n int) int {
	some := s.Given[s.givenScored:min(s.givenScored+n, len(s.Given))]
	s.ScoreAtoms(w, some)
	s.givenScored += len(some)
	if s.givenScored == len(s.Given) {
		s.BestGiven = append(s.BestGiven[:0], s.Best.All()...)
	}
	return s.givenScored
}

// SeedLower counts the scores of the given candidates as lower bounds, for looks whose threshold is
// made of such.
func (s *Query) SeedLower() {
	if s.Lower.Len() > 0 {
		return
	}
	for _, a := range s.BestGiven {
		s.Lower.Push(s.Conversion.Threshold(a.Score))
	}
}
