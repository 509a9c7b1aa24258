package slates

import (
	"slices"
	"unicode/utf8"

	"thresher/choice/serve/choiceapi"
	"thresher/choice/slate"
	"thresher/service/catalog"
	"thresher/service/jsonbody"
	"thresher/service/problem"
)

// The types of slates that clients see.
type (
	Settings  = choiceapi.SlateSettings
	Item      = choiceapi.SlateItem
	Feedback  = choiceapi.SlateFeedback
	Slate     = choiceapi.Slate
	Pick      = choiceapi.SlatePick
	Excluding = choiceapi.SlateExcluded
	Excluded  = choiceapi.SlateAtoms
)

const (
	maxCosts  = 16  // of an item
	maxGroups = 256 // of all items
	maxGroup  = 64  // characters of a group's name
)

// DecodeSettings reads the body of settings with at most most items. Errors are of type
// *problem.Problem.
func DecodeSettings(body []byte, most int) (*Settings, error) {
	s := &Settings{Lambda: 1, Rule: string(slate.Determinant), Noise: 0.5, Bound: 1, Items: []Item{}}
	positive := func(x float64) bool { return x >= 1e-6 && x <= 1e6 }
	const wanted = "[1e-6, 1e6]"
	err := jsonbody.Decode(body, jsonbody.Members{
		"lambda": jsonbody.Number("lambda", &s.Lambda, wanted, positive),
		"rule":   jsonbody.Text("rule", &s.Rule),
		"noise":  jsonbody.Number("noise", &s.Noise, wanted, positive),
		"bound":  jsonbody.Number("bound", &s.Bound, wanted, positive),
		"items": jsonbody.Array("items", most, func(b []byte, i int) (int, error) {
			it, next, err := item(b, i)
			if err == nil {
				err = checkCosts(s, &it)
			}
			s.Items = append(s.Items, it)
			return next, err
		}),
	})
	if err != nil {
		return nil, err
	}
	if rules := []slate.Rule{slate.Determinant, slate.Tuned}; !slices.Contains(rules, slate.Rule(s.Rule)) {
		return nil, problem.New(problem.InvalidValue, "rule %q is none of %v", jsonbody.Clip(s.Rule), rules).In("rule").Within(rules)
	}
	return s, countGroups(s)
}

func item(b []byte, i int) (it Item, next int, err error) {
	named := false
	next, err = jsonbody.Object(jsonbody.Members{
		"id": func(b []byte, i int) (_ int, err error) {
			named = true
			it.ID, i, err = readID(b, i)
			return i, err
		},
		"costs": jsonbody.Numbers("costs", maxCosts, &it.Costs, "[0, 1e60]", func(x float64) bool { return x >= 0 && x <= slate.MaxMagnitude }),
		"groups": jsonbody.Array("groups", maxGroups, func(b []byte, i int) (int, error) {
			var g string
			next, err := jsonbody.Text("", &g)(b, i)
			if n := utf8.RuneCountInString(g); err == nil && (n == 0 || n > maxGroup) {
				err = problem.New(problem.InvalidValue, " has %d characters, the name of a group has 1 to %d", n, maxGroup)
			}
			for _, other := range it.Groups {
				if err == nil && other == g {
					err = problem.New(problem.InvalidValue, " repeats %q", g)
				}
			}
			it.Groups = append(it.Groups, g)
			return next, err
		}),
	})(b, i)
	if err == nil && !named {
		err = problem.New(problem.InvalidValue, "id is missing").In("id")
	}
	return it, next, err
}

// checkCosts checks that an item has as many costs as the previous ones.
func checkCosts(s *Settings, it *Item) error {
	if len(s.Items) == 0 || len(it.Costs) == len(s.Items[0].Costs) {
		return nil
	}
	l := len(s.Items[0].Costs)
	return problem.New(problem.InvalidValue, "costs has %d values, those of earlier items have %d", len(it.Costs), l).In("costs").Within(l)
}

func countGroups(s *Settings) error {
	all := map[string]bool{}
	for i := range s.Items {
		for _, g := range s.Items[i].Groups {
			if all[g] = true; len(all) > maxGroups {
				return problem.New(problem.OverLimit, "items[%d]: group %q exceeds the limit of %d groups", i, g, maxGroups).At("items", i).Within(maxGroups)
			}
		}
	}
	return nil
}

// costs returns the number of costs of an item.
func costs(s *Settings) int {
	if len(s.Items) == 0 {
		return 0
	}
	return len(s.Items[0].Costs)
}

// rowsOf returns the row of each item in a version. Items must be distinct and exist, unless
// gone, which gives missing ones the row -1.
func rowsOf(s *Settings, ids IDs, missing bool) ([]int64, error) {
	rows := make([]int64, len(s.Items))
	seen := make(map[int64]int, len(rows))
	for i := range s.Items {
		row, err := rowOf(ids, s.Items[i].ID)
		if missing && err != nil {
			rows[i] = -1
			continue
		}
		if err != nil {
			return nil, jsonbody.Element(err, "items", i)
		}
		if first, twice := seen[row]; twice {
			return nil, problem.New(problem.InvalidValue, "items[%d]: id %s is that of items[%d]", i, idText(s.Items[i].ID), first).At("items", i)
		}
		rows[i], seen[row] = row, i
	}
	return rows, nil
}

// rowOf returns the row of an item.
func rowOf(ids IDs, id ID) (int64, error) {
	keys := &catalog.Keys{Ints: []int64{id.Int}}
	switch strings := ids.Kind() == catalog.Strings; {
	case strings && !id.Text:
		return 0, problem.New(problem.UnknownID, "id is %s, and the ids of the collection are strings", idText(id)).Within(catalog.Strings)
	case !strings && id.Text:
		return 0, problem.New(problem.UnknownID, "id is %s, and the ids of the collection are integers", idText(id)).Within(catalog.Integers)
	case strings:
		keys = &catalog.Keys{Names: []string{id.Name}}
	}
	rows, err := ids.Rows(keys, "id")
	if err != nil {
		return 0, err
	}
	return rows[0], nil
}
