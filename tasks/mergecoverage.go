package tasks

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"math"
	"slices"
	"strconv"
	"strings"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// Coverage says what the answers of a file are to. Files of answers state it once, as covers, so
// that answers that do not belong together are not merged.
type Coverage struct {
	Queries  string       `json:"queries"` // digest of the values of all queries, in order
	Count    int64        `json:"count"`   // of the queries
	Metric   string       `json:"metric"`
	K        int          `json:"k"`                  // vectors of an answer at most; 0: any number
	OwnK     bool         `json:"own_k,omitempty"`    // queries have a k of their own
	Limits   string       `json:"limits,omitempty"`   // digest of the least and greatest scores and the exclusions
	Reaching bool         `json:"reaching,omitempty"` // a least score is wanted
	Method   batch.Method `json:"method"`
	Shards   []Shard      `json:"shards"` // whose vectors were searched, by ascending digest
	// ExcludeSelf says of a part of the queries that vector j is no answer to query j.
	ExcludeSelf bool `json:"exclude_self,omitempty"`
	// Epsilon and Delta of a part are those asked for, and Rounded is the largest change of a coordinate of the vectors
	// or of any query by rounding to float32.
	Epsilon float64 `json:"epsilon,omitempty"`
	Delta   float64 `json:"delta,omitempty"`
	Rounded float64 `json:"rounded,omitempty"`
	// Part is which of the queries are answered; nil: all.
	Part *QueryPart `json:"part,omitempty"`
}

// Shard is a set of vectors that were searched by themselves.
type Shard struct {
	Digest string `json:"digest"` // of a sample of the vectors and their ids
	Rows   int64  `json:"rows"`
}

// maxShards bounds the shards that a file states.
const maxShards = 1 << 20

// ReadCoverage reads what a file states of its answers.
func ReadCoverage(raw []byte) (*Coverage, error) {
	c := &Coverage{}
	if err := json.Unmarshal(raw, c); err != nil {
		return nil, fmt.Errorf("covers: %w", err)
	}
	switch {
	case c.Queries == "" || c.Count < 0 || c.K < 0:
		return nil, errors.New("covers: states no queries, or a negative number")
	case len(c.Shards) == 0 || len(c.Shards) > maxShards:
		return nil, fmt.Errorf("covers: %d shards are not in 1..%d", len(c.Shards), maxShards)
	}
	for i := range c.Shards {
		if s := &c.Shards[i]; s.Digest == "" || s.Rows < 0 {
			return nil, fmt.Errorf("covers: shard %d has no digest or %d rows", i, s.Rows)
		}
	}
	if c.Part != nil {
		if err := c.Part.check(c.Count); err != nil {
			return nil, fmt.Errorf("covers: %w", err)
		}
	}
	_, err := collection.ParseMetric(c.Metric)
	if err != nil {
		return nil, fmt.Errorf("covers: %w", err)
	}
	return c, nil
}

// begin reads what the files cover, refuses those that do not belong together, and sets how their
// answers are merged.
func (m *merger) begin(o *MergeOptions) (*MergeSummary, error) {
	var all *Coverage
	stated, owners := 0, map[string]string{} // the file of each shard
	first := ""
	for i, f := range m.files {
		raw := m.answers[i].Covers
		if raw == nil && o.Unchecked {
			continue
		}
		if raw == nil {
			return nil, fmt.Errorf("%s does not state which queries, vectors and k its answers are for, as files that search wrote do; unchecked, it is merged all the same", f.Name)
		}
		c, err := ReadCoverage(raw)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.Name, err)
		}
		if c.Part != nil {
			return nil, fmt.Errorf("%s has the answers to part %d of %d of the queries; join the parts first, by check --out", f.Name, c.Part.Index, c.Part.Of)
		}
		stated++
		if all == nil {
			all, first = &Coverage{Queries: c.Queries, Count: c.Count, Metric: c.Metric, K: c.K, OwnK: c.OwnK, Limits: c.Limits, Reaching: c.Reaching, Method: c.Method}, f.Name
		}
		if err := all.join(c, first, f.Name, owners); err != nil {
			return nil, err
		}
	}
	m.byID, m.byRow = map[string]int{}, map[int64]int{}
	m.metric, m.k, m.chances = o.Metric, o.K, batch.Unfounded
	sum := &MergeSummary{Files: len(m.files), Unchecked: stated < len(m.files)}
	if all != nil {
		var err error
		if m.metric, err = collection.ParseMetric(all.Metric); err != nil {
			return nil, err
		}
		switch {
		case all.OwnK && (!o.Unchecked || o.K == 0):
			return nil, fmt.Errorf("%s: its queries have a k of their own, which merged answers could not be cut to", first)
		case o.K > all.K && all.K > 0:
			return nil, fmt.Errorf("k = %d: the answers of %s are the %d best, of which no more than %d follow for all vectors", o.K, first, all.K, all.K)
		case o.K == 0:
			m.k = all.K
		}
	}
	if sum.Unchecked {
		if err := m.metric.Check(); err != nil {
			return nil, fmt.Errorf("unchecked answers do not state their metric: %w", err)
		}
		if all == nil && o.K == 0 {
			return nil, errors.New("unchecked answers do not state their k; say how many vectors a merged answer has at most")
		}
		sum.K, sum.Metric = m.k, m.metric.String()
		return sum, nil
	}
	m.chances, all.K, all.OwnK = all.Method.Chances(), m.k, false
	slices.SortFunc(all.Shards, func(a, b Shard) int { return strings.Compare(a.Digest, b.Digest) })
	sum.K, sum.Metric, sum.Shards, sum.Covers = m.k, all.Metric, len(all.Shards), all
	for i := range all.Shards {
		sum.Vectors += all.Shards[i].Rows
	}
	return sum, nil
}

// join adds the shards of other, or says why answers that cover c and other do not belong together.
func (c *Coverage) join(other *Coverage, name, otherName string, owners map[string]string) error {
	differ := func(what string, a, b any) error {
		return fmt.Errorf("%s and %s cannot be merged: %s differs, %v and %v", name, otherName, what, a, b)
	}
	switch {
	case other.Count != c.Count:
		return differ("the number of queries", c.Count, other.Count)
	case other.Queries != c.Queries:
		return differ("the digest of the queries", c.Queries, other.Queries)
	case other.Metric != c.Metric:
		return differ("the metric", c.Metric, other.Metric)
	case other.K != c.K || other.OwnK != c.OwnK:
		return differ("k", c.K, other.K)
	case other.Limits != c.Limits || other.Reaching != c.Reaching:
		return fmt.Errorf("%s and %s cannot be merged: least or greatest scores or exclusions differ", name, otherName)
	}
	a, b := c.Method.Chances(), other.Method.Chances()
	if a == batch.ChancesShared && b == batch.ChancesAdded || a == batch.ChancesAdded && b == batch.ChancesShared {
		return fmt.Errorf("%s and %s cannot be merged: what methods %s and %s allow to fail does not combine", name, otherName, c.Method, other.Method)
	}
	if weaker(other.Method, c.Method) {
		c.Method = other.Method
	}
	for _, s := range other.Shards {
		if s.Rows == 0 { // no vectors are in common with none
			c.Shards = append(c.Shards, s)
			continue
		}
		if owner, known := owners[s.Digest]; known {
			return fmt.Errorf("%s and %s cannot be merged: both have answers over the same %d vectors (digest %s)", owner, otherName, s.Rows, s.Digest)
		}
		owners[s.Digest] = otherName
		c.Shards = append(c.Shards, s)
	}
	return nil
}

// weaker reports whether less follows from answers of method a than of b for all shards; an order of
// all methods, so that merging does not depend on the order of files.
func weaker(a, b batch.Method) bool {
	order := []batch.Chances{batch.ChancesNone, batch.ChancesShared, batch.ChancesAdded, batch.Unfounded}
	x, y := slices.Index(order, a.Chances()), slices.Index(order, b.Chances())
	return x > y || x == y && a > b
}

// QueryDigest is the digest of queries as they were given: of their values in order, whatever the
// container, the width of its numbers and their order of bytes.
type QueryDigest struct {
	dim   int
	count int64
	sum   hash.Hash
	row   []byte
}

// NewQueryDigest returns the digest of no queries, of dim values each.
func NewQueryDigest(dim int) *QueryDigest {
	d := &QueryDigest{dim: dim, sum: sha256.New()}
	d.sum.Write(binary.LittleEndian.AppendUint64(nil, uint64(dim)))
	return d
}

// Add adds queries, row-major: those in float64 as they were given, if rows were rounded, else rows. A query that float32 holds
// enters as float32, another one as float64.
func (d *QueryDigest) Add(rows []float32, given []float64) {
	if given != nil {
		d.AddGiven(given)
		return
	}
	for at := 0; at+d.dim <= len(rows); at += d.dim {
		d.row = append(d.row[:0], 4)
		for _, x := range rows[at : at+d.dim] {
			d.row = binary.LittleEndian.AppendUint32(d.row, math.Float32bits(x+0)) // no -0
		}
		d.count++
		d.sum.Write(d.row)
	}
}

// AddGiven is Add of queries in float64.
func (d *QueryDigest) AddGiven(given []float64) {
	narrow := make([]float32, d.dim)
	for at := 0; at+d.dim <= len(given); at += d.dim {
		row := given[at : at+d.dim]
		if dataset.HoldsAll(row) {
			for j, x := range row {
				narrow[j] = float32(x)
			}
			d.Add(narrow, nil)
			continue
		}
		d.row = append(d.row[:0], 8)
		for _, x := range row {
			d.row = binary.LittleEndian.AppendUint64(d.row, math.Float64bits(x+0)) // no -0
		}
		d.count++
		d.sum.Write(d.row)
	}
}

// Count returns the number of queries.
func (d *QueryDigest) Count() int64 { return d.count }

// String returns the digest, in hexadecimal.
func (d *QueryDigest) String() string { return hex.EncodeToString(d.sum.Sum(nil)) }

// shardSample is how many vectors the digest of a shard is made of.
const shardSample = 256

// ShardSample returns how many of n rows the digest of a shard is made of: s = min(n, 256), the rows i(n-1)/(s-1),
// rounded down, in ascending order.
func ShardSample(n int) int { return min(n, shardSample) }

// ShardOf describes the vectors of a collection, of which id returns the id of a row; nil if they have none.
// The same vectors have the same digest. Others have another one, unless they agree in number, dimension, a
// sample of the rows, and its ids.
func ShardOf(c *collection.Collection, id func(row int) string) Shard {
	return shardOf(c.N, c.Dim, id, c.Given)
}

// shardOf is ShardOf of n vectors, which given returns.
func shardOf(n, dim int, id func(row int) string, given func(row int) []float64) Shard {
	sum, le := sha256.New(), binary.LittleEndian
	head := le.AppendUint64(le.AppendUint64(nil, uint64(n)), uint64(dim))
	sum.Write(head)
	var line []byte
	some := ShardSample(n)
	for i := range some {
		row := i
		if some > 1 {
			row = int(int64(i) * int64(n-1) / int64(some-1))
		}
		line = line[:0]
		for _, value := range given(row) {
			line = le.AppendUint64(line, math.Float64bits(value+0))
		}
		if id != nil {
			text := id(row)
			line = append(le.AppendUint32(line, uint32(len(text))), text...)
		}
		sum.Write(line)
	}
	return Shard{Digest: hex.EncodeToString(sum.Sum(nil)[:16]), Rows: int64(n)}
}

// Part describes those vectors of s that may be returned: the rows of filter, nil for all, without those of
// exclude. Rows are in 0..s.Rows-1.
func (s Shard) Part(filter, exclude []int64) Shard {
	kept := make([]byte, (s.Rows+7)/8) // a bit a row
	left := int64(0)
	keep := func(row int64) {
		if kept[row/8]&(1<<(row%8)) == 0 {
			left++
		}
		kept[row/8] |= 1 << (row % 8)
	}
	for _, row := range filter {
		keep(row)
	}
	for row := int64(0); filter == nil && row < s.Rows; row++ {
		keep(row)
	}
	for _, row := range exclude {
		if kept[row/8]&(1<<(row%8)) != 0 {
			left--
		}
		kept[row/8] &^= 1 << (row % 8)
	}
	if left == s.Rows {
		return s
	}
	sum := sha256.New()
	sum.Write([]byte(s.Digest))
	sum.Write(kept)
	return Shard{Digest: hex.EncodeToString(sum.Sum(nil)[:16]), Rows: left}
}

// LimitsText appends to dst a text of the least and the greatest score of query j, nil for none, of which LimitsDigest makes a
// digest where queries have limits of their own: j:min,max, and a list of what it excludes may follow. Scores are finite.
func LimitsText(dst []byte, j int, minScore, maxScore *float64) []byte {
	dst = append(strconv.AppendInt(dst, int64(j), 10), ':')
	for _, x := range []*float64{minScore, maxScore} {
		if x != nil {
			format := byte('f')
			if a := math.Abs(*x); a != 0 && (a < 1e-6 || a >= 1<<53) {
				format = 'e'
			}
			dst = strconv.AppendFloat(dst, *x, format, -1, 64)
		}
		dst = append(dst, ',')
	}
	return dst
}

// LimitsDigest is the digest of what queries ask for beside k: the least and the greatest score of all, nil for
// none, and whatever tells apart what each asks for. Scores are finite.
func LimitsDigest(minScore, maxScore *float64, own ...string) (string, error) {
	all := []any{minScore, maxScore}
	for _, text := range own {
		all = append(all, text)
	}
	b, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:16]), nil
}
