package dataset

import (
	"io"

	"github.com/parquet-go/parquet-go"
)

// parquetResult is a row of the results' Parquet file.
type parquetResult struct {
	Query     int64     `parquet:"query"`
	IDs       []int64   `parquet:"ids,list"`
	Scores    []float32 `parquet:"scores,list"`
	Pulls     int64     `parquet:"pulls"`
	Exact     bool      `parquet:"exact"`
	Complete  bool      `parquet:"complete"`
	Guarantee string    `parquet:"guarantee,dict"`
	Delta     float64   `parquet:"delta"`
	Epsilon   float64   `parquet:"epsilon"`
}

// namedResult is parquetResult with the atoms' own ids.
type namedResult struct {
	Query     int64     `parquet:"query"`
	IDs       []int64   `parquet:"ids,list"`
	Names     []string  `parquet:"names,list"`
	Scores    []float32 `parquet:"scores,list"`
	Pulls     int64     `parquet:"pulls"`
	Exact     bool      `parquet:"exact"`
	Complete  bool      `parquet:"complete"`
	Guarantee string    `parquet:"guarantee,dict"`
	Delta     float64   `parquet:"delta"`
	Epsilon   float64   `parquet:"epsilon"`
}

// resultGroup bounds the ids of a row group, which the writer holds in memory.
const resultGroup = 1 << 20

// AssembleParquet writes the columns query int64, ids list<int64>, scores list<float>,
// pulls int64, exact bool, complete bool, guarantee string, delta and epsilon double, compressed with snappy, and names
// list<string> if the first record has names. Records may be in any order. Certificates are omitted.
func AssembleParquet(spool io.ReadSeeker, out io.Writer) error {
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return err
	}
	var first Result // errors in it are reported when it is read again
	if s := (spoolReader{r: spool}); s.next(&first) == nil && first.IDs != nil {
		w := parquet.NewGenericWriter[namedResult](out, parquet.Compression(&parquet.Snappy))
		return assembleRows(spool, w, w.Flush, func(r *Result) error {
			_, err := w.Write([]namedResult{{r.Query, r.Rows, r.IDs, r.Scores, r.Pulls, r.Exact, !r.Partial, r.Guarantee, r.Delta, r.Epsilon}})
			return err
		})
	}
	w := parquet.NewGenericWriter[parquetResult](out, parquet.Compression(&parquet.Snappy))
	return assembleRows(spool, w, w.Flush, func(r *Result) error {
		_, err := w.Write([]parquetResult{{r.Query, r.Rows, r.Scores, r.Pulls, r.Exact, !r.Partial, r.Guarantee, r.Delta, r.Epsilon}})
		return err
	})
}

func assembleRows(spool io.ReadSeeker, w io.Closer, flush func() error, write func(*Result) error) error {
	held := 0
	err := EachRecord(spool, func(_ int64, r *Result) error {
		if held > 0 && held+len(r.Rows) > resultGroup {
			held = 0
			if err := flush(); err != nil {
				return err
			}
		}
		held += len(r.Rows) + 1
		return write(r)
	})
	if err != nil {
		return err
	}
	return w.Close()
}
