package thresher_test

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
)

// sizes is a row of the table of docs/scale.md, of a million vectors: GB, and processor milliseconds a query.
type sizes struct{ file, codes, certain, adaptive float64 }

// tableOfSizes reads that table, by dimension and type.
func tableOfSizes(t *testing.T, page string) map[string]sizes {
	t.Helper()
	rows := map[string]sizes{}
	for _, line := range strings.Split(page, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 8 {
			continue
		}
		var figures []float64
		for _, cell := range cells[2:] {
			if figure, err := strconv.ParseFloat(cell, 64); err == nil {
				figures = append(figures, figure)
			}
		}
		if len(figures) == 6 {
			rows[cells[0]+" "+cells[1]] = sizes{figures[0], figures[1], figures[4], figures[5]}
		}
	}
	if len(rows) != 12 {
		t.Fatalf("the table has %d rows of figures, expected 12", len(rows))
	}
	return rows
}

// What docs/scale.md says of 100 million vectors is what its table of a million says.
func TestFiguresOfScale(t *testing.T) {
	page := read(t, "docs/scale.md")
	rows := tableOfSizes(t, page)
	wide, small := rows["768 float32"], rows["384 float32"]
	const millions, queries = 100, 1e6
	hours := func(ms float64) float64 { return math.Round(ms * millions / 1e3 * queries / 3600) }
	cluster := int(math.Round(small.adaptive*1e10/3.6e6/100)) * 100 // hours, to two digits
	for _, said := range []string{
		fmt.Sprintf("100 million vectors of 768 float32 are a file of %.0f GB, of which %.0f GB are codes and terms", millions*wide.file, millions*wide.codes),
		fmt.Sprintf("takes %s to %s processor seconds", short(wide.adaptive*millions/1e3), short(wide.certain*millions/1e3)),
		fmt.Sprintf("a million queries %.0f to %.0f hours of a core", hours(wide.adaptive), hours(wide.certain)),
		fmt.Sprintf("are %.1f ms x 10^10, %d,%03d core hours", small.adaptive, cluster/1000, cluster%1000),
	} {
		if !strings.Contains(page, said) {
			t.Errorf("docs/scale.md does not say %q, as its table does", said)
		}
	}
}

// short is a figure below 1 as the pages write it.
func short(figure float64) string { return strings.TrimPrefix(fmt.Sprintf("%.2f", figure), "0") }
