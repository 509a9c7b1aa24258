package figures

import (
	"cmp"
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// Cost is what a run of a figure took where it was measured: on an Intel Xeon (family 6, model 207) that was busy with other work, which
// costs processor time too.
type Cost struct {
	Seconds float64 `json:"processor_seconds"`
	MiB     int     `json:"mib,omitempty"` // the most memory that was resident; 0: not measured
}

//go:embed costs.csv
var costsFile string

// costsMeasured reads costs.csv: id, size, seconds, MiB, the last of which may be missing.
var costsMeasured = sync.OnceValues(func() (map[[2]string]Cost, error) {
	r := csv.NewReader(strings.NewReader(costsFile))
	r.FieldsPerRecord = 4
	lines, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("costs.csv: %w", err)
	}
	costs := map[[2]string]Cost{}
	for i, line := range lines[1:] {
		seconds, err := strconv.ParseFloat(line[2], 64)
		if err != nil {
			return nil, fmt.Errorf("costs.csv: line %d, seconds: %w", i+2, err)
		}
		mib, err := strconv.Atoi(cmp.Or(line[3], "0"))
		if err != nil {
			return nil, fmt.Errorf("costs.csv: line %d, MiB: %w", i+2, err)
		}
		costs[[2]string{line[0], line[1]}] = Cost{seconds, mib}
	}
	return costs, nil
})

// CostOf returns what a run of a figure took, nil if it was not measured.
func CostOf(id string, size Size) (*Cost, error) {
	costs, err := costsMeasured()
	if err != nil {
		return nil, err
	}
	if c, measured := costs[[2]string{id, string(size)}]; measured {
		return &c, nil
	}
	return nil, nil
}
