package offline

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"thresher/internal/plaintext"
	"thresher/service/problem"
	"thresher/service/wire"
)

// maxCollections bounds the collections that the requests of a batch may name.
const maxCollections = 64

// Codes of failures that correspond to no kind of problem.
const (
	emptyFile   problem.Kind = "empty-file"
	duplicateID problem.Kind = "duplicate-custom-id"
)

// maxDuplicates bounds the list of repeated ids in an error.
const maxDuplicates = 10

// validate reads the whole input once, pins the collections that it names, and counts its
// requests.
func (j *job) validate(rec *record) error {
	count, pinned, err := j.count(rec)
	if err != nil {
		return err
	}
	if count.total == 0 {
		return failed(emptyFile, 0, "%s holds no request", rec.InputName)
	}
	return j.update(func(rec *record) {
		if rec.Batch.Status != Validating {
			return // cancelled in the meantime
		}
		rec.Batch.Status = InProgress
		rec.Batch.InProgressAt = j.now()
		rec.Batch.RequestCounts.Total = count.total
		rec.Batch.Collections = pinned
		rec.Covers = count.covers
		if count.width > 0 {
			rec.Width = count.width
		}
	})
}

// count counts the requests of a batch, or the rows of a matrix.
func (j *job) count(rec *record) (count rowCount, pinned []Pinned, err error) {
	if rec.Matrix {
		count, err = j.countRows(rec)
		return count, rec.Batch.Collections, err
	}
	f, err := os.Open(j.path(rec.inputName()))
	if err != nil {
		return count, nil, err
	}
	defer f.Close()
	if err := checkText(rec, f); err != nil {
		return count, nil, err
	}
	v := &validation{j: j, pinned: slices.Clone(rec.Batch.Collections), unknown: map[string]bool{}}
	if err := v.read(j.ctx, f); err != nil {
		return count, nil, err
	}
	return rowCount{total: v.requests}, v.pinned, v.duplicates(j.ctx, f)
}

// checkText refuses requests of which no line could be read: those of a file in another encoding than
// UTF-8, or whose lines end with CR alone. It leaves f where it is.
func checkText(rec *record, f io.ReaderAt) error {
	start := make([]byte, plaintext.Peeked)
	n, err := f.ReadAt(start, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if err := cmp.Or(plaintext.CheckEncoding(start[:n]), plaintext.CheckJSON(start[:n])); err != nil {
		return failed(problem.Malformed, 0, "%s: %v", rec.InputName, err)
	}
	return nil
}

// validation is one pass over a file of requests.
type validation struct {
	j        *job
	requests int64
	seen     [][16]byte // a part of the SHA-256 of each custom_id
	pinned   []Pinned
	unknown  map[string]bool // collections that cannot be pinned; at most maxCollections
}

// read counts the requests and pins the collections that they name. Errors of a request are
// reported when it is answered.
func (v *validation) read(ctx context.Context, f io.Reader) error {
	lines := newLineReader(f, v.j.m.o.LineBytes)
	for {
		text, long, err := lines.nextLine()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if v.requests++; v.requests > v.j.m.o.Requests {
			return failed(problem.OverLimit, lines.at, "more than %d requests", v.j.m.o.Requests)
		}
		if v.requests%1024 == 1 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if long {
			continue
		}
		line, err := wire.DecodeLine(text)
		if line.CustomID != "" {
			v.seen = append(v.seen, digestOf(line.CustomID))
		}
		if err != nil {
			continue
		}
		if err := v.pin(ctx, line.URL); err != nil {
			return err
		}
	}
}

func digestOf(id string) [16]byte {
	sum := sha256.Sum256([]byte(id))
	return [16]byte(sum[:16])
}

// pin pins the collection in a request's URL, if it exists, once it is ready.
func (v *validation) pin(ctx context.Context, url string) error {
	name, ok := collectionOf(url)
	if !ok || v.unknown[name] || slices.ContainsFunc(v.pinned, func(p Pinned) bool { return p.Name == name }) {
		return nil
	}
	if len(v.pinned)+len(v.unknown) >= maxCollections {
		return nil // answering reports the error
	}
	library := v.j.m.library
	version, err := library.pin(ctx, name, v.j.id)
	if notReady(err) {
		if err = library.wait(ctx, name); err == nil {
			version, err = library.pin(ctx, name, v.j.id)
		}
	}
	var p *problem.Problem
	switch {
	case err == nil:
		v.pinned = append(v.pinned, Pinned{Name: name, Version: version})
	case errors.As(err, &p) && p.Kind.Status() < 500:
		v.unknown[name] = true
	default:
		return err
	}
	return nil
}

// duplicates fails a batch in which a custom_id occurs twice. It detects them by their
// digests, and only then reads the input again to find their lines.
func (v *validation) duplicates(ctx context.Context, f io.ReadSeeker) error {
	slices.SortFunc(v.seen, func(a, b [16]byte) int { return bytes.Compare(a[:], b[:]) })
	first := map[[16]byte]int64{} // line of the first occurrence of each repeated id; 0 until it is read
	for i := 1; i < len(v.seen) && len(first) < maxDuplicates; i++ {
		if v.seen[i] == v.seen[i-1] {
			first[v.seen[i]] = 0
		}
	}
	if len(first) == 0 {
		return nil
	}
	v.seen = nil
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return err
	}
	lines := newLineReader(f, v.j.m.o.LineBytes)
	found := &failure{}
	for len(found.errors) < maxDuplicates {
		text, long, err := lines.nextLine()
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if long {
			continue
		}
		line, _ := wire.DecodeLine(text) // its id counts even if the line is otherwise invalid
		at, repeated := first[digestOf(line.CustomID)]
		switch {
		case line.CustomID == "" || !repeated:
		case at == 0:
			first[digestOf(line.CustomID)] = lines.at
		default:
			number, param := lines.at, "custom_id"
			found.errors = append(found.errors, Error{
				Code: string(duplicateID), Line: &number, Param: &param,
				Message: fmt.Sprintf("line %d has the custom_id %.64q of line %d", number, line.CustomID, at),
			})
		}
	}
	return found
}
