package ratings

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Most lists the n titles with the most ratings; ties are ordered by name.
func (r *Ratings) Most(n int) ([]string, error) {
	if n < 2 || n > len(r.rated) {
		return nil, fmt.Errorf("%d titles of %d that are rated; 2 at least", n, len(r.rated))
	}
	titles := slices.SortedFunc(maps.Keys(r.rated), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(r.rated[b]), len(r.rated[a])), cmp.Compare(a, b))
	})
	return titles[:n], nil
}

// Comparison counts the preferences of people between some titles.
type Comparison struct {
	titles []string
	prefer []int // [i*k+j]: people who rated i above j
	ties   []int // [i*k+j]: people who rated both alike
}

// Compare refuses titles that nobody rated, and pairs that nobody rated differently, because
// nothing is known about them.
func (r *Ratings) Compare(titles []string) (*Comparison, error) {
	k := len(titles)
	c := &Comparison{titles: titles, prefer: make([]int, k*k), ties: make([]int, k*k)}
	type seen struct {
		title int
		value float64
	}
	users := map[int][]seen{}
	for i, title := range titles {
		if len(r.rated[title]) == 0 {
			return nil, fmt.Errorf("nobody rated %q", title)
		}
		for _, x := range r.rated[title] {
			users[x.user] = append(users[x.user], seen{i, x.value})
		}
	}
	for _, all := range users {
		for i, x := range all {
			for _, y := range all[:i] {
				switch {
				case x.title == y.title: // one title of two movies
				case x.value > y.value:
					c.prefer[x.title*k+y.title]++
				case x.value < y.value:
					c.prefer[y.title*k+x.title]++
				default:
					c.ties[x.title*k+y.title]++
					c.ties[y.title*k+x.title]++
				}
			}
		}
	}
	return c, c.check()
}

// check returns an error that names the first pair without judges and counts the others.
func (c *Comparison) check() error {
	var first string
	others := -1
	for i := range c.titles {
		for j := range i {
			if c.Judges(i, j) > 0 {
				continue
			}
			if others++; others == 0 {
				first = fmt.Sprintf("nobody rated %q and %q differently", c.titles[j], c.titles[i])
			}
		}
	}
	switch {
	case first == "":
		return nil
	case others > 0:
		first += fmt.Sprintf(", nor %d other pairs", others)
	}
	return errors.New(first)
}

// Judges counts the people who rated one of a pair above the other.
func (c *Comparison) Judges(i, j int) int { return c.Prefer(i, j) + c.Prefer(j, i) }

// Prefer counts the people who rated i above j.
func (c *Comparison) Prefer(i, j int) int { return c.prefer[i*len(c.titles)+j] }

// Ties counts the people who rated both equally; they are not judges.
func (c *Comparison) Ties(i, j int) int { return c.ties[i*len(c.titles)+j] }

// Best returns the title that most judges of every pair prefer to the other, and its closest
// rival; best is -1 if there is no such title.
func (c *Comparison) Best() (best, rival int) {
	for i := range c.titles {
		rival := -1
		for j := range c.titles {
			switch {
			case j == i:
			case c.Prefer(i, j) <= c.Prefer(j, i):
				rival = -2
			case rival == -1 || rival >= 0 && c.share(i, j) < c.share(i, rival):
				rival = j
			}
		}
		if rival >= 0 {
			return i, rival
		}
	}
	return -1, -1
}

func (c *Comparison) share(i, j int) float64 {
	return float64(c.Prefer(i, j)) / float64(c.Judges(i, j))
}
