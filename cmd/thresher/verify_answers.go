package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"thresher/batch"
	"thresher/collection"
	"thresher/dataset"
	"thresher/verify"
)

// answerReader streams answers with their certificates.
type answerReader struct {
	in           input
	results      dataset.ResultReader
	certificates *certificateReader // nil without a file of them
	atoms        *atomIDs
	scores       bool               // of the answers are checked
	metric       *collection.Metric // of the vectors, known once they are read
	name         string
	// otherwise is used for answers without a certificate.
	otherwise batch.Certificate
	certified bool // the latest answer has a certificate
	stating   bool // the file states a guarantee of answers
	at        int64
}

// openAnswers opens the answers to verify.
func (v *verification) openAnswers() (*answerReader, error) {
	results, err := v.in.openResults()
	if err != nil {
		return nil, err
	}
	r := &answerReader{in: v.in, results: results, name: v.in.name, atoms: &v.atoms, scores: !v.flags.ignoreScores, metric: &v.metric}
	r.otherwise = v.assumed()
	if v.flags.certificates == "" {
		return r, nil
	}
	if r.certificates, err = openCertificates(v.certificates); err != nil {
		return nil, errors.Join(err, results.Close())
	}
	return r, nil
}

// assumed is the certificate of answers without one, as far as flags say; an empty guarantee is what the file
// states.
func (v *verification) assumed() batch.Certificate {
	return batch.Certificate{Guarantee: batch.Guarantee(v.flags.guarantee), Delta: v.Config.Delta, Epsilon: v.Config.Epsilon}
}

// stated returns the certificate of an answer without one.
func (r *answerReader) stated(res *dataset.Result) batch.Certificate {
	c := r.otherwise
	switch {
	case c.Guarantee != "":
	case res.Guarantee != "":
		r.stating = true
		c.Guarantee = batch.Guarantee(res.Guarantee)
		c.Delta, c.Epsilon = cmp.Or(res.Delta, c.Delta), cmp.Or(res.Epsilon, c.Epsilon)
	default:
		c.Guarantee = batch.GuaranteeExact
	}
	if c.Guarantee == batch.GuaranteeExact || c.Guarantee == batch.GuaranteeCertain {
		c.Delta = 0
	}
	if res.Partial { // without an open bound
		c.StoppedBy = batch.Deadline
		return c
	}
	c.Exact = res.Exact
	return c
}

func (r *answerReader) close() {
	r.results.Close() // read only
	if r.certificates != nil {
		r.certificates.file.Close()
	}
}

// nextAnswer returns the next answer; io.EOF after the last.
func (r *answerReader) nextAnswer() (batch.Answer, error) {
	res, err := r.results.Next()
	if err != nil {
		return batch.Answer{}, r.in.named(err)
	}
	if res.Query != r.at {
		return batch.Answer{}, fmt.Errorf("%s: answer %d (0-based) is to query %d; answers must be in the order of the queries, without gaps", r.name, r.at, res.Query)
	}
	raw := res.Certificate
	if r.certificates != nil {
		if raw, err = r.certificates.nextCertificate(r.at); err != nil {
			return batch.Answer{}, err
		}
	}
	r.at++
	rows, err := r.atoms.rows(&res)
	if err != nil {
		return batch.Answer{}, fmt.Errorf("%s: query %d: %w", r.name, res.Query, err)
	}
	a := batch.Answer{IDs: rows}
	if r.scores {
		a.Scores, a.SearchScores = res.Scores, r.metric.SearchedAll(res.Scores64)
	}
	if r.certified = raw != nil; !r.certified {
		a.Certificate = r.stated(&res)
		return a, verify.CheckCertificate(&a.Certificate)
	}
	if a.Certificate, err = readCertificate(raw); err != nil {
		return batch.Answer{}, fmt.Errorf("%s: certificate of query %d: %w", r.name, res.Query, err)
	}
	switch c := &a.Certificate; {
	case res.Guarantee != "" && res.Guarantee != string(c.Guarantee):
		return a, fmt.Errorf("%s: query %d: the answer's guarantee is %q, that of its certificate %q", r.name, res.Query, res.Guarantee, c.Guarantee)
	case res.Partial && c.StoppedBy == batch.Done:
		return a, fmt.Errorf("%s: query %d: the answer says that it is not complete, its certificate that it is", r.name, res.Query)
	}
	return a, nil
}

func readCertificate(raw json.RawMessage) (c batch.Certificate, err error) {
	if err := json.Unmarshal(raw, &c); err != nil {
		return c, err
	}
	return c, verify.CheckCertificate(&c)
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

func (c *certificateReader) nextCertificate(query int64) (json.RawMessage, error) {
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
