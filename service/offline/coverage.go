package offline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os"

	"thresher/batch"
	"thresher/dataset"
	"thresher/tasks"
)

// part is the shard of those vectors that a request may be answered with.
func (r *request) part() tasks.Shard {
	if r.allow == nil && r.deny == nil {
		return r.shelf.shard()
	}
	return r.shelf.shard().Part(r.allow, r.deny)
}

// stateCoverage makes the answer to a request state what it covers, if the request wants that.
func (r *request) stateCoverage() error {
	if r.search.Digest == nil {
		return nil
	}
	whole := *r.search
	whole.K = r.k
	c, err := whole.Coverage(r.shelf.metric(), r.part())
	if err != nil {
		return err
	}
	r.search.Covers, err = json.Marshal(c)
	return err
}

// digestRows adds the rows of a matrix to a digest of queries as they are given.
func (j *job) digestRows(rec *record, of shelf, sum *tasks.QueryDigest) error {
	r, err := dataset.Open(j.path(rec.inputName()), j.reading(rec, of, nil))
	if err != nil {
		return err
	}
	defer r.Close()
	dataset.KeepGiven(r)
	rows := make([]float32, max(1, min(rec.Chunk, maxElements/r.Dim()))*r.Dim())
	for {
		n, err := r.Read(rows)
		sum.Add(rows[:n*r.Dim()], dataset.GivenOf(r))
		if err == io.EOF {
			return nil
		}
		if err == nil && j.ctx.Err() != nil {
			err = context.Cause(j.ctx)
		}
		if err != nil {
			return err
		}
	}
}

// coverage returns what the answers to the rows of a matrix cover, as JSON: those of a digest of all queries, by
// these options; nil where each row has a filter of its own.
func (j *job) coverage(rec *record, options *request, queries *tasks.QueryDigest) (json.RawMessage, error) {
	q, goals := options.search, rec.Batch.Goals
	if goals != nil && goals.FilterColumn != "" {
		return nil, nil // answers are about different vectors
	}
	c := &tasks.Coverage{
		Queries: queries.String(), Count: queries.Count(), Metric: options.shelf.metric().String(), K: options.k,
		Reaching: q.MinScore != nil, Method: cmp.Or(q.Method, batch.Auto), Shards: []tasks.Shard{options.part()},
	}
	var columns, exclude, zeros string
	asked := columnsOf(goals)
	if goals != nil {
		c.OwnK = goals.KColumn != ""
		c.Reaching = c.Reaching || asked.MinScore != ""
		var err error
		if asked.MinScore != "" || asked.MaxScore != "" {
			if columns, err = j.hash(rec.inputName()); err != nil {
				return nil, err
			}
		}
		if goals.ExcludeFileID != "" {
			zeros = goals.Zeros
			if exclude, err = j.hash(rec.excludeLink()); err != nil {
				return nil, err
			}
		}
	}
	if q.MinScore != nil || q.MaxScore != nil || columns != "" || exclude != "" {
		var err error
		if c.Limits, err = tasks.LimitsDigest(q.MinScore, q.MaxScore, asked.MinScore, asked.MaxScore, columns, exclude, zeros); err != nil {
			return nil, err
		}
	}
	return json.Marshal(c)
}

// hash returns the SHA-256 of a file of the job, in hexadecimal.
func (j *job) hash(name string) (string, error) {
	f, err := os.Open(j.path(name))
	if err != nil {
		return "", err
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, readsUntil{j.ctx, f}); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}
