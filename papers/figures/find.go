package figures

import (
	"fmt"
	"slices"
	"strings"
)

// AllIDs stands for every figure where ids are named.
const AllIDs = "all"

// Find returns the figures with these ids, each once, in the order of All. An error names the id that is not one, and the
// nearest that are.
func Find(ids []string) ([]*Figure, error) {
	all := All()
	wanted := map[string]bool{}
	for _, id := range ids {
		if id == AllIDs {
			return all, nil
		}
		if !slices.ContainsFunc(all, func(f *Figure) bool { return f.ID == id }) {
			return nil, fmt.Errorf("%q is no figure; %s", id, suggestion(id, all))
		}
		wanted[id] = true
	}
	return slices.DeleteFunc(all, func(f *Figure) bool { return !wanted[f.ID] }), nil
}

// suggestion names the figures whose ids begin like id, or else those to which the fewest changes of a letter lead.
func suggestion(id string, all []*Figure) string {
	var near []string
	least := len(id)/2 + 1
	for _, f := range all {
		d := distance(strings.ToLower(id), f.ID)
		if id != "" && strings.HasPrefix(f.ID, strings.ToLower(id)) {
			d = 0
		}
		if d < least {
			near, least = nil, d
		}
		if d == least {
			near = append(near, f.ID)
		}
	}
	if len(near) == 0 {
		return "thresher paper list lists them"
	}
	return "did you mean " + strings.Join(near, " or ") + "?"
}

// distance is how many letters of a are to be added, removed or replaced for b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
