package dataset

import (
	"bufio"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"strings"
)

// secondsArray is the array of an npz of answers that says how long it took to make them.
const secondsArray = "seconds"

// StatedSeconds is how long the answers in a file took, to so many queries all together, by what the file says: an array
// "seconds" of an npz, one number or one for each query, or took_ms of a JSON body. It is 0 if the file does not say. Errors are
// of type *Error.
func StatedSeconds(path string, queries int64, b *Budget) (float64, error) {
	switch {
	case strings.HasSuffix(path, ".npz"):
		return npzSeconds(path, queries, b)
	case strings.HasSuffix(path, ".json"):
		return bodySeconds(path)
	}
	return 0, nil
}

// npzSeconds reads the array of seconds.
func npzSeconds(path string, queries int64, b *Budget) (float64, error) {
	src, err := openSource(path, false)
	if err != nil {
		return 0, err
	}
	defer src.Close()
	src.limit(b)
	entries, err := listNPZ(src)
	if err != nil {
		return 0, err
	}
	at := slices.IndexFunc(entries, func(e npzEntry) bool { return e.name == secondsArray })
	if at < 0 {
		return 0, nil
	}
	e := &entries[at]
	a := e.array(src)
	n := int64(1)
	switch shape := e.header.shape; {
	case len(shape) > 1 || a.kind == 0:
		return 0, fail(a.name, "dtype %q, shape %v: seconds are one number, or one for each query", e.header.descr, shape)
	case len(shape) == 1:
		n = shape[0]
	}
	if n != 1 && n != queries {
		return 0, fail(a.name, "%d values: seconds are one number, or one for each of %d queries", n, queries)
	}
	if err := a.open(src, e); err != nil {
		return 0, err
	}
	sum := 0.0
	for range n {
		x, err := a.number()
		if err != nil {
			return 0, fail(a.name, "%w", cutShort(err))
		}
		if x < 0 {
			return 0, fail(a.name, "%g seconds", x)
		}
		sum += x
	}
	return sum, a.finish("seconds")
}

// bodySeconds reads took_ms, which stands before the answers.
func bodySeconds(path string) (float64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, fail(path, "%w", err)
	}
	defer f.Close()
	d := json.NewDecoder(bufio.NewReader(io.LimitReader(f, 1<<20)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return 0, nil // answers of another form, which say nothing
	}
	for d.More() {
		name, err := d.Token()
		if err != nil || name == "results" {
			return 0, nil
		}
		var value any
		if d.Decode(&value) != nil {
			return 0, nil
		}
		if ms, ok := value.(float64); ok && name == "took_ms" && ms >= 0 && !math.IsInf(ms, 0) {
			return ms / 1e3, nil
		}
	}
	return 0, nil
}
