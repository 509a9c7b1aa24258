package slate

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// blank returns n items without value.
func blank(n int) Objective { return must(NewCoverage(n, 1, make([]float64, n))) }

func TestItemsRefuse(t *testing.T) {
	if _, err := NewItems(nil, Attributes{}); err == nil || !strings.Contains(err.Error(), "no objective") {
		t.Error(err)
	}
	for i, c := range []struct {
		a    Attributes
		want string
	}{
		{Attributes{Knapsacks: 2, Costs: []float64{1, 1, 1, -1}}, "item 1, knapsack 1: cost -1"},
		{Attributes{Knapsacks: 1, Costs: []float64{math.NaN(), 1}}, "item 0, knapsack 0: cost NaN"},
		{Attributes{Knapsacks: 1, Costs: []float64{1, math.Inf(1)}}, "item 1, knapsack 0: cost +Inf"},
		{Attributes{Knapsacks: 1, Costs: []float64{1}}, "1 costs for 2 items and 1 knapsacks"},
		{Attributes{Costs: []float64{1}}, "1 costs for 2 items and 0 knapsacks"},
		{Attributes{Knapsacks: -1}, "-1 knapsacks"},
		{Attributes{Knapsacks: math.MaxInt}, "knapsacks"},
		{Attributes{GroupCount: -1}, "-1 groups"},
		{Attributes{GroupCount: 2, Groups: [][]int{{0}}}, "groups of 1 items, there are 2"},
		{Attributes{GroupCount: 2, Groups: [][]int{{0}, {1, 2}}}, "item 1: group 2 of 2"},
		{Attributes{GroupCount: 2, Groups: [][]int{{-1}, {}}}, "item 0: group -1 of 2"},
		{Attributes{GroupCount: 2, Groups: [][]int{{1, 0, 1}, {}}}, "item 0: group 1 twice"},
		{Attributes{Groups: [][]int{{}, {0}}}, "item 1: group 0 of 0"},
	} {
		if _, err := NewItems(blank(2), c.a); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("case %d: %v, want one with %q", i, err, c.want)
		}
	}
}

func TestLimitsRefuse(t *testing.T) {
	it := must(NewItems(blank(3), Attributes{
		Knapsacks: 1, Costs: []float64{0, 2, 5}, GroupCount: 2, Groups: [][]int{{0}, {0, 1}, {1}},
	}))
	for i, c := range []struct {
		l    Limits
		want string
	}{
		{Limits{Length: -1, Budgets: []float64{1}}, "length -1"},
		{Limits{}, "0 budgets for 1 knapsacks"},
		{Limits{Budgets: []float64{1, 1}}, "2 budgets for 1 knapsacks"},
		{Limits{Budgets: []float64{0}}, "budget 0: 0 is not in"},
		{Limits{Budgets: []float64{-1}}, "budget 0: -1"},
		{Limits{Budgets: []float64{math.NaN()}}, "budget 0: NaN"},
		{Limits{Budgets: []float64{math.Inf(1)}}, "budget 0: +Inf"},
		{Limits{Budgets: []float64{1}, Groups: map[int]int{2: 1}}, "limit of group 2 of 2"},
		{Limits{Budgets: []float64{1}, Groups: map[int]int{-1: 1}}, "limit of group -1 of 2"},
		{Limits{Budgets: []float64{1}, Groups: map[int]int{1: -3}}, "group 1: limit -3"},
		{Limits{Budgets: []float64{9}, Groups: map[int]int{0: 0, 1: 0}}, "0 of 3 exceed a budget alone, 3 are in a group of limit 0"},
		{Limits{Budgets: []float64{1}, Groups: map[int]int{0: 0}}, "2 of 3 exceed a budget alone, 2 are in a group of limit 0"},
	} {
		_, err := it.Constrain(c.l)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("case %d: %v, want one with %q", i, err, c.want)
		}
		if empty := strings.Contains(c.want, "exceed"); errors.Is(err, ErrEmpty) != empty {
			t.Errorf("case %d: %v is ErrEmpty: %v", i, err, !empty)
		}
	}
}

func TestItemsThatAreInNoList(t *testing.T) {
	it := must(NewItems(blank(4), Attributes{
		Knapsacks: 2, Costs: []float64{0, 0, 2, 1, 1, 4, 5, 5}, GroupCount: 2, Groups: [][]int{{0}, {1}, {0, 1}, {1}},
	}))
	c := must(it.Constrain(Limits{Budgets: []float64{2, 3}, Groups: map[int]int{0: 0}}))
	if got := c.Unaffordable(); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("unaffordable %v", got)
	}
	if got := c.Barred(); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("barred %v", got)
	}
	if got, want := c.Cost(1), 2.0/2+1.0/3; got != want {
		t.Errorf("item 1 costs %v, want %v", got, want)
	}
	if c.Usable(0) || !c.Usable(1) || c.Usable(2) || c.Usable(3) || c.Length() != 1 {
		t.Errorf("usable items; length %d", c.Length())
	}
}

// k is the most limited groups of a usable item; alpha follows.
func TestKAndLength(t *testing.T) {
	it := must(NewItems(blank(4), Attributes{
		Knapsacks: 1, Costs: []float64{1, 0.5, 0.25, 9}, GroupCount: 4, Groups: [][]int{{0, 1}, {2}, {}, {0, 1, 2, 3}},
	}))
	for _, c := range []struct {
		l         Limits
		k, length int
	}{
		{Limits{Budgets: []float64{1}}, 1, 3},
		{Limits{Budgets: []float64{1}, Length: 2}, 1, 2},
		{Limits{Budgets: []float64{1}, Groups: map[int]int{0: 1, 1: 1, 2: 1, 3: 1}}, 2, 3},
		{Limits{Budgets: []float64{1}, Groups: map[int]int{0: 1, 3: 1}}, 1, 3},
		{Limits{Budgets: []float64{9}, Groups: map[int]int{0: 1, 1: 1, 2: 1, 3: 1}}, 4, 4},
		{Limits{Budgets: []float64{0.4}}, 1, 1},
		{Limits{Budgets: []float64{0.5}}, 1, 2},
	} {
		got := must(it.Constrain(c.l))
		if got.K() != c.k || got.Length() != c.length {
			t.Errorf("%+v: k %d and length %d, want %d and %d", c.l, got.K(), got.Length(), c.k, c.length)
		}
		if want := 1 / (1.5 * float64(c.k+3)); got.Alpha(0.5) != want {
			t.Errorf("alpha %v, want %v", got.Alpha(0.5), want)
		}
	}
}

// A sum that equals its budget is within it, despite rounding.
func TestBudgetsAreMetExactly(t *testing.T) {
	for _, c := range []struct{ cost, budget float64 }{{0.1, 0.3}, {0.1, 0.8}, {1, 3}, {1.1, 7.7}, {1e-9, 7e-9}, {1e9 / 3, 1e9}} {
		n := int(math.Round(c.budget / c.cost))
		costs := make([]float64, n+1)
		list := make([]int, n+1)
		for e := range costs {
			costs[e], list[e] = c.cost, e
		}
		con := must(must(NewItems(blank(n+1), Attributes{Knapsacks: 1, Costs: costs})).Constrain(Limits{Budgets: []float64{c.budget}}))
		if err := con.Check(list[:n]); err != nil {
			t.Errorf("%d of %v within %v: %v", n, c.cost, c.budget, err)
		}
		if con.Check(list) == nil {
			t.Errorf("%d of %v within %v", n+1, c.cost, c.budget)
		}
		if con.Length() != n {
			t.Errorf("length %d, want %d", con.Length(), n)
		}
	}
}

// Integer costs exceed a budget by at least one or not at all.
func TestBudgetsOfWholeNumbers(t *testing.T) {
	for _, half := range []float64{5e5, 1e9, 1 << 40, 1e14} {
		it := must(NewItems(blank(4), Attributes{Knapsacks: 1, Costs: []float64{half, half, half + 1, 2*half + 1}}))
		c := must(it.Constrain(Limits{Length: 3, Budgets: []float64{2 * half}}))
		if err := c.Check([]int{0, 1}); err != nil {
			t.Error(err)
		}
		if c.Check([]int{0, 2}) == nil || c.Usable(3) {
			t.Errorf("a budget of %v is exceeded", 2*half)
		}
	}
}

// Check agrees with the definition.
func TestCheckIsTheDefinition(t *testing.T) {
	const n = 7
	r := newRand(7, 0)
	for range 200 {
		a, l := randomLimits(r, n)
		c, err := must(NewItems(blank(n), a)).Constrain(l)
		if err != nil {
			continue
		}
		ok := allowed(a, l)
		for set := range uint(1) << n {
			var list []int
			for _, e := range r.Perm(n) {
				if in(set, e) {
					list = append(list, e)
				}
			}
			if err := c.Check(list); (err == nil) != ok(set) {
				t.Fatalf("%+v %+v: list %v: %v, allowed %v", a, l, list, err, ok(set))
			}
			if ok(set) && len(list) > c.Length() {
				t.Fatalf("list %v is longer than %d", list, c.Length())
			}
		}
	}
	c := must(must(NewItems(blank(2), Attributes{})).Constrain(Limits{}))
	for _, list := range [][]int{{2}, {-1}, {0, 0}} {
		if c.Check(list) == nil {
			t.Errorf("list %v is allowed", list)
		}
	}
}

// randomLimits draws up to three knapsacks and two partition matroids; some costs are 0,
// some items unaffordable.
func randomLimits(r *rand.Rand, n int) (Attributes, Limits) {
	a := Attributes{Knapsacks: r.IntN(4)}
	a.Costs = uniform(r, n*a.Knapsacks, 0, 1)
	for i := range a.Costs {
		if r.IntN(8) == 0 {
			a.Costs[i] = 0
		}
	}
	l := Limits{Length: r.IntN(n), Budgets: uniform(r, a.Knapsacks, 0.3, 2)}
	if k := r.IntN(3); k > 0 {
		a.GroupCount = 3 * k
		a.Groups = make([][]int, n)
		for e := range a.Groups {
			for j := range k {
				a.Groups[e] = append(a.Groups[e], 3*j+r.IntN(3))
			}
		}
		l.Groups = map[int]int{}
		for g := range a.GroupCount {
			l.Groups[g] = r.IntN(4)
		}
	}
	return a, l
}
