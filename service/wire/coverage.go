package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"strconv"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/dataset/jsonscan"
	"thresher/tasks"
)

// digest returns the digest of the queries as the body gives them: relative to no origin, which depends on the
// collection, and before they are rounded.
func (d *Draft) digest() (*tasks.QueryDigest, error) {
	sum := tasks.NewQueryDigest(d.s.Dim)
	switch {
	case d.given != nil:
		_, err := jsonscan.Elements(d.given, 0, func(_, at int) (next int, err error) {
			if d.row, next, err = jsonscan.Doubles(d.row[:0], d.given, at, d.s.Dim); err == nil {
				sum.AddGiven(d.row)
			}
			return next, err
		})
		return sum, inField(err, fieldQueries)
	case d.npy != nil:
		return sum, digestNPY(sum, d.npy, d.s.Dim)
	}
	sum.Add(d.s.Queries, nil)
	return sum, nil
}

// digestNPY adds the rows of a file of dim columns that has been read once.
func digestNPY(sum *tasks.QueryDigest, body []byte, dim int) error {
	m, err := dataset.NewReader(bytes.NewReader(body), dataset.NPY, "body", &dataset.Options{OneRow: true})
	if err != nil {
		return badNPY(err)
	}
	defer m.Close()
	dataset.KeepGiven(m)
	rows := make([]float32, max(1, npyChunk/4/dim)*dim)
	for {
		n, err := m.Read(rows)
		sum.Add(rows[:n*dim], dataset.GivenOf(m))
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return badNPY(err)
		}
	}
}

// Coverage says what the answers to a search that has a digest cover, among the vectors of a shard. Queries with
// a k of their own have no common one; a filter is part of the shard.
func (s *Search) Coverage(m collection.Metric, shard tasks.Shard) (*tasks.Coverage, error) {
	c := &tasks.Coverage{
		Queries: s.Digest.String(), Count: s.Digest.Count(), Metric: m.String(), K: s.K,
		Reaching: s.MinScore != nil, Method: cmp.Or(s.Method, batch.Auto), Shards: []tasks.Shard{shard},
	}
	var own string
	if s.Goals != nil {
		var text []byte
		for j := range s.Goals {
			g := &s.Goals[j]
			if j == 0 {
				c.K = g.K
			}
			c.OwnK = c.OwnK || g.K != s.Goals[0].K
			c.K = max(c.K, g.K)
			c.Reaching = c.Reaching || g.MinScore != nil
			text = g.appendLimits(text, j)
		}
		own = string(text)
	}
	if s.MinScore == nil && s.MaxScore == nil && own == "" {
		return c, nil
	}
	var err error
	c.Limits, err = tasks.LimitsDigest(s.MinScore, s.MaxScore, "", "", own, "", "")
	return c, err
}

// appendLimits appends a text of what the goal of query j limits beside k; nothing if it limits nothing.
func (g *QueryGoal) appendLimits(dst []byte, j int) []byte {
	if g.MinScore == nil && g.MaxScore == nil && (g.Exclude == nil || g.Exclude.Len() == 0) {
		return dst
	}
	dst = tasks.LimitsText(dst, j, g.MinScore, g.MaxScore)
	if l := g.Exclude; l != nil {
		for _, id := range l.Ints {
			dst = append(strconv.AppendInt(dst, id, 10), ',')
		}
		for _, name := range l.Names {
			dst = append(AppendString(dst, name), ',')
		}
		for _, listed := range l.Mask {
			dst = strconv.AppendBool(dst, listed)
		}
	}
	return append(dst, '\n')
}

// appendCovers appends the member covers, with its comma; nothing without one.
func appendCovers(dst []byte, covers json.RawMessage) []byte {
	if covers == nil {
		return dst
	}
	return append(append(append(dst, `"covers":`...), covers...), ',')
}
