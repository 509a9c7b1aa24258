package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
)

// answerReader streams answers with what they claim.
type answerReader struct {
	in           input
	results      dataset.ResultReader
	certificates *certificateReader // nil without a file of them
	name         string
	// otherwise is the claim of answers without certificates.
	otherwise claim
	metric    collection.Metric
	at        int64
}

// openAnswers begins to read the answers that are verified.
func (v *verify) openAnswers() (*answerReader, error) {
	results, err := dataset.OpenResults(v.in.path)
	if err != nil {
		return nil, v.in.named(err)
	}
	r := &answerReader{in: v.in, results: results, name: v.in.name, metric: v.check.oracle.metric}
	r.otherwise = claim{guarantee: batch.Guarantee(v.flags.guarantee), delta: v.config.Delta, epsilon: r.searchUnits(v.config.Epsilon)}
	if v.flags.certificates == "" {
		return r, nil
	}
	if r.certificates, err = openCertificates(v.certificates); err != nil {
		return nil, errors.Join(err, results.Close())
	}
	return r, nil
}

func (r *answerReader) close() {
	r.results.Close() // read only
	if r.certificates != nil {
		r.certificates.file.Close()
	}
}

// next returns the next answer; io.EOF after the last.
func (r *answerReader) next() (given, error) {
	res, err := r.results.Next()
	if err != nil {
		return given{}, r.in.named(err)
	}
	if res.Query != r.at {
		return given{}, fmt.Errorf("%s: answer %d (0-based) is to query %d; answers must be in the order of the queries, without gaps", r.name, r.at, res.Query)
	}
	raw := res.Certificate
	if r.certificates != nil {
		if raw, err = r.certificates.next(r.at); err != nil {
			return given{}, err
		}
	}
	r.at++
	g := given{query: res.Query, ids: res.IDs, scores: res.Scores, claim: r.otherwise}
	g.claim.exact = res.Exact
	if raw == nil {
		return g, nil
	}
	if g.claim, err = r.claimOf(raw); err != nil {
		return given{}, fmt.Errorf("%s: certificate of query %d: %w", r.name, res.Query, err)
	}
	return g, nil
}

// searchUnits turns a gap between scores into one between search scores: of
// squared distances, q.v - |v|^2/2 is half.
func (r *answerReader) searchUnits(epsilon float64) float64 {
	if r.metric == collection.Euclidean {
		return epsilon / 2
	}
	return epsilon
}

func (r *answerReader) claimOf(raw json.RawMessage) (claim, error) {
	var c batch.Certificate
	if err := json.Unmarshal(raw, &c); err != nil {
		return claim{}, err
	}
	switch c.Guarantee {
	case batch.GuaranteeExact, batch.GuaranteeCertain, batch.GuaranteeProbabilistic, batch.GuaranteeHeuristic:
	default:
		return claim{}, fmt.Errorf("guarantee %q is none of exact, certain, probabilistic, heuristic", c.Guarantee)
	}
	// those of older files name none
	if c.Law != "" && !slices.Contains(batch.Laws(), c.Law) {
		return claim{}, fmt.Errorf("law %q is none of %v", c.Law, batch.Laws())
	}
	if !(c.Delta >= 0 && c.Delta < 1) || !(c.Epsilon >= 0) {
		return claim{}, fmt.Errorf("delta %g or epsilon %g is out of range", c.Delta, c.Epsilon)
	}
	g := claim{
		guarantee: c.Guarantee, law: c.Law, delta: c.Delta, epsilon: r.searchUnits(c.Epsilon), exact: c.Exact,
		partial: c.StoppedBy != "" && c.StoppedBy != batch.Done, open: math.Inf(1),
	}
	if c.OpenBound != nil {
		g.open = *c.OpenBound
	}
	return g, nil
}

// certificateReader streams the file that search --certificates writes.
type certificateReader struct {
	name  string
	file  *os.File
	lines *json.Decoder
}

func openCertificates(in input) (*certificateReader, error) {
	f, err := os.Open(in.path)
	if err != nil {
		return nil, err
	}
	return &certificateReader{name: in.name, file: f, lines: json.NewDecoder(bufio.NewReader(f))}, nil
}

func (c *certificateReader) next(query int64) (json.RawMessage, error) {
	var line struct {
		Query       int64           `json:"query"`
		Certificate json.RawMessage `json:"certificate"`
	}
	err := c.lines.Decode(&line)
	if err == io.EOF {
		return nil, fmt.Errorf("%s: ends before the certificate of query %d", c.name, query)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	if line.Query != query {
		return nil, fmt.Errorf("%s: certificate of query %d where that of query %d belongs", c.name, line.Query, query)
	}
	return line.Certificate, nil
}
