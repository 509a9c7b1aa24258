package dataset

import (
	"encoding/json"
)

// Result is the answer to one query.
type Result struct {
	Query       int64           // row of the query, 0-based
	IDs         []int64         // row numbers of the atoms found, best first
	Names       []string        // their ids if the atoms have an id column, else nil
	Scores      []float32       // one an id; nil if the file has none. -Inf is no score
	Pulls       int64           // coordinates read
	Exact       bool            // whether the answer is exact, not only correct with high probability
	Certificate json.RawMessage // one JSON object, or nil
}

// ResultReader streams results. It is not safe for concurrent use.
type ResultReader interface {
	// Next returns the next result, whose slices the caller owns; io.EOF after the last. Other
	// errors are of type *Error, and final.
	Next() (Result, error)
	// Len returns the number of results, -1 if only reading tells.
	Len() int64
	// Close releases the file.
	Close() error
}

// OpenResults opens .npz, .jsonl (also .jsonl.gz), .parquet or .ivecs results, or ground truth
// in the forms of the big-ann-benchmarks (.ibin, or any unknown extension). Padding (id -1) is
// removed. Files of other programs may lack scores, pulls and exact; without query
// numbers the rows are numbered as queries.
func OpenResults(path string) (ResultReader, error) {
	format, gzipped := FormatOf(path)
	src, err := openSource(path, gzipped)
	if err != nil {
		return nil, err
	}
	r, err := openResultsAs(src, format)
	if err != nil {
		src.Close()
		return nil, located(src.name, -1, err)
	}
	return r, nil
}

func openResultsAs(src *source, ext Format) (ResultReader, error) {
	head, err := src.head()
	if err != nil {
		return nil, err
	}
	content := Sniff(head)
	if ext == Unknown && isWeak(content) {
		if _, _, forms := truthOf(head, src.size); forms != nil {
			content = IBin
		}
	}
	format, err := reconcile(src.name, ext, content)
	if err != nil {
		return nil, err
	}
	if err := src.canSeek(format); err != nil {
		return nil, err
	}
	switch format {
	case NPY:
		return openNPYResults(src)
	case NPZ:
		return openNPZResults(src)
	case JSONL:
		return &jsonlResults{source: src, lines: lineReader{r: src.r}}, nil
	case Parquet:
		return openParquetResults(src)
	case IVecs:
		return openIVecsResults(src)
	case IBin:
		return openTruth(src)
	}
	return nil, fail(src.name, "format %s does not hold results (npz, npy, jsonl, parquet, ivecs and ibin do)", format)
}
