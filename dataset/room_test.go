package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

// TestDrainWithinRoom: rows whose number a file of their size can have take their memory once; others ask for it as they grow, and what there
// is no room for is not taken.
func TestDrainWithinRoom(t *testing.T) {
	const rows, dim = 20_000, 64
	var text strings.Builder
	for i := range rows {
		for j := range dim {
			fmt.Fprintf(&text, "%d,", i+j)
		}
		text.WriteString("1\n")
	}
	inFolder(t, map[string][]byte{"a.parquet": parquetWith(t, rows, dim, 0, &parquet.Uncompressed), "zeros.parquet": parquetWith(t, rows, dim, 9, &zstd.Codec{}), "a.csv": []byte(text.String())})
	full := errors.New("full")
	for _, x := range []struct {
		name  string
		width int64
		once  bool
	}{{"a.parquet", dim, true}, {"zeros.parquet", dim, false}, {"a.csv", dim + 1, false}} {
		open := func() Reader {
			var o Options
			if x.name == "a.csv" {
				o.Header = HeaderNo
			}
			r, err := Open(x.name, &o)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { r.Close() })
			return r
		}
		var asked []int64
		m, err := DrainWithin(context.Background(), open(), func(bytes int64) error { asked = append(asked, bytes); return nil })
		if err != nil || m.Rows != rows {
			t.Fatalf("%s: %d rows, %v", x.name, m.Rows, err)
		}
		need := rows * x.width * 4
		if x.once && (len(asked) != 1 || asked[0] != need) || !x.once && len(asked) < 3 || !slices.IsSorted(asked) || 10*asked[len(asked)-1] < 9*need || 2*asked[len(asked)-1] > 3*need {
			t.Errorf("%s: asked for %d bytes, rows take %d", x.name, asked, need)
		}
		calls := 0
		if m, err = DrainWithin(context.Background(), open(), func(bytes int64) error {
			if calls++; bytes > need/2 {
				return full
			}
			return nil
		}); m != nil || !errors.Is(err, full) || calls != 1 && x.once {
			t.Errorf("%s: %v after %d calls", x.name, err, calls)
		}
		if _, _, err := DrainVectorsWithin(context.Background(), open(), ElemFloat64, func(int64) error { return full }); !errors.Is(err, full) {
			t.Errorf("%s as float64: %v", x.name, err)
		}
	}
}
