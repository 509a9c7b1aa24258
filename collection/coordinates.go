package collection

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
)

// A file keeps the names that the coordinates of its vectors have, so that queries can be compared
// with them by name. Names that count, as d0, d1, .., are kept as one run.

// nameRun is consecutive names: Before, a number and After, Count of them from First on; or the one
// name Before if Count is 0.
type nameRun struct {
	Before string `json:",omitempty"`
	First  int    `json:",omitempty"`
	After  string `json:",omitempty"`
	Count  int    `json:",omitempty"`
}

// maxNames bounds the bytes of names in the header of a file. Names that take more are not kept.
const maxNames = 8 << 10

var countedName = regexp.MustCompile(`^(.*?)(0|[1-9][0-9]{0,8})([^0-9]*)$`)

// nameRuns returns names as runs, or nil if these take too many bytes.
func nameRuns(names []string) []nameRun {
	var runs []nameRun
	for _, name := range names {
		m := countedName.FindStringSubmatch(name)
		if m == nil {
			runs = append(runs, nameRun{Before: name})
			continue
		}
		at, _ := strconv.Atoi(m[2]) // at most nine digits
		if len(runs) > 0 {
			last := &runs[len(runs)-1]
			if last.Count > 0 && last.Before == m[1] && last.After == m[3] && last.First+last.Count == at {
				last.Count++
				continue
			}
		}
		runs = append(runs, nameRun{m[1], at, m[3], 1})
	}
	if text, err := json.Marshal(runs); err != nil || len(text) > maxNames {
		return nil
	}
	return runs
}

// namesOf returns the names of runs, dim of them, nil for none.
func namesOf(runs []nameRun, dim int) ([]string, error) {
	if runs == nil {
		return nil, nil
	}
	var names []string
	for _, r := range runs {
		if r.Count < 0 || r.Count > dim-len(names) || r.Count == 0 && len(names) == dim {
			return nil, fmt.Errorf("%w: more names than the %d coordinates", ErrCorrupt, dim)
		}
		if r.Count == 0 {
			names = append(names, r.Before)
		}
		for i := range r.Count {
			names = append(names, r.Before+strconv.Itoa(r.First+i)+r.After)
		}
	}
	if len(names) != dim {
		return nil, fmt.Errorf("%w: %d names for %d coordinates", ErrCorrupt, len(names), dim)
	}
	return names, nil
}
