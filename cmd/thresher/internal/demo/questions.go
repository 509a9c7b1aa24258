package demo

import (
	"context"
	"fmt"

	"thresher/batch"
)

// usual are the default questions.
func usual() []string {
	return []string{
		"wait until all goroutines have finished",
		"decode JSON from a stream",
		"search for a substring",
		"escape HTML text",
	}
}

// ask answers the questions, each as a request of one query.
func (t *tour) ask(ctx context.Context) ([]Question, error) {
	queries := t.Queries
	if len(queries) == 0 {
		queries = usual()
	}
	var asked []Question
	for _, text := range queries {
		q, err := t.question(ctx, text)
		if err != nil {
			return nil, fmt.Errorf("query %q: %w", text, err)
		}
		asked = append(asked, q)
	}
	return asked, nil
}

func (t *tour) question(ctx context.Context, text string) (Question, error) {
	q := Question{Query: text, Hits: []Hit{}}
	v := t.weigher.Query(text)
	if allZero(v) {
		q.Unknown = true
		return q, nil
	}
	resp, err := t.search(ctx, batch.Request{Queries: v})
	if err != nil {
		return q, err
	}
	a := resp.Answers[0]
	q.Seconds, q.Certificate = resp.Took.Seconds(), &a.Certificate
	for i, id := range a.IDs {
		e := t.corpus.Entries[id]
		q.Hits = append(q.Hits, Hit{Symbol: e.Symbol(), Sentence: e.Sentence(), Score: a.Scores[i]})
	}
	return q, nil
}

func allZero(v []float32) bool {
	for _, x := range v {
		if x != 0 {
			return false
		}
	}
	return true
}
