package problem

import "cmp"

// DefaultPage is the number of entries on a page of a list if the client names none, MaxPage
// the greatest number that it may ask for.
const (
	DefaultPage = 20
	MaxPage     = 100
)

// PageSize checks the number of entries that a client asks for; 0 means DefaultPage.
func PageSize(limit int) (int, error) {
	limit = cmp.Or(limit, DefaultPage)
	if limit < 1 || limit > MaxPage {
		return 0, New(InvalidValue, "limit %d is not in 1..%d", limit, MaxPage).In("limit").Within(MaxPage)
	}
	return limit, nil
}
