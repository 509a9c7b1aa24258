package tasks

import (
	"context"
	"fmt"

	"thresher/verify"
)

// CertifySummary says what was found of answers that were certified: compared with those of a
// search that had their atoms as candidates.
type CertifySummary struct {
	Compared int64 `json:"compared"` // answers whose best atoms became known
	Right    int64 `json:"right"`    // that lacked nothing and held nothing else
	Missed   int64 `json:"missed"`   // atoms that they lacked
	// Unwanted counts atoms that they held although their queries exclude them, or their scores are
	// out of bounds.
	Unwanted int64 `json:"unwanted"`
	// Kept counts the answers that are kept as they were, unproven, because their searches were
	// stopped.
	Kept   int64   `json:"kept"`
	Recall float64 `json:"recall"` // mean over the answers compared, 0 without any
	// Scores is the check of the stated scores, nil without any.
	Scores *verify.FormCount `json:"scores,omitempty"`
}

// CertifyCounts are the counts of a comparison, in the form in which a run that can be resumed
// keeps them. Their names are those of earlier runs.
type CertifyCounts struct {
	Compared int64   `json:"compared"`
	Right    int64   `json:"right"`
	Missed   int64   `json:"missing"`
	Unwanted int64   `json:"unwanted"`
	Kept     int64   `json:"kept,omitempty"`
	Recalls  float64 `json:"shares"` // sum of the answers' recalls
}

func (n *CertifyCounts) add(c *Compared) {
	if c.Kept {
		n.Kept++
	}
	if !c.Known {
		return
	}
	n.Compared++
	n.Recalls += c.Recall
	n.Missed += int64(len(c.Missed))
	n.Unwanted += c.Unwanted
	if c.right() {
		n.Right++
	}
}

// Certify compares the answers of a stream with those of a search that had their atoms as
// candidates, and passes what it finds of each, in order, to visit, unless that is nil. Answers
// whose search was stopped are not compared, and kept as they were (see Comparison.Add). Errors are those of the stream and of
// [Comparison.Add].
func Certify(ctx context.Context, c *Comparison, parts Parts, visit func(*Compared) error) (*CertifySummary, error) {
	for p, err := range parts {
		if err == nil {
			err = c.Add(ctx, p, visit)
		}
		if err != nil {
			return nil, err
		}
	}
	return c.Certified()
}

// Certified returns the summary of what was compared so far, as of Certify.
func (c *Comparison) Certified() (*CertifySummary, error) {
	n := &c.counts
	s := &CertifySummary{Compared: n.Compared, Right: n.Right, Missed: n.Missed, Unwanted: n.Unwanted, Kept: n.Kept}
	if n.Compared > 0 {
		s.Recall = n.Recalls / float64(n.Compared)
	}
	var err error
	s.Scores, err = c.scores()
	return s, err
}

// Before says how good the answers were, in words.
func (s *CertifySummary) Before() string {
	if s.Compared == 0 {
		return "unknown, as no search was finished in time"
	}
	return fmt.Sprintf("recall %.4f; %d of %d answers were right", s.Recall, s.Right, s.Compared)
}

// Corrected says what was wrong with the others, in words.
func (s *CertifySummary) Corrected() string {
	held := ""
	if s.Unwanted > 0 {
		held = fmt.Sprintf(" and held %d that may not be returned", s.Unwanted)
	}
	return fmt.Sprintf("%d answers, which lacked %d vectors%s", s.Compared-s.Right, s.Missed, held)
}

// Unproven says what became of the answers whose searches were stopped, in words; "" without any.
func (s *CertifySummary) Unproven() string {
	if s.Kept == 0 {
		return ""
	}
	return fmt.Sprintf("%d answers are kept as they were: their searches were stopped, and nothing is known of them", s.Kept)
}
