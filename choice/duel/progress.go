package duel

import (
	"fmt"
	"slices"
)

// progress is the state of a strategy: named vectors of integers.
type progress map[string][]int64

// scalar reads one number.
func (p progress) scalar(name string) (int64, error) {
	v, err := p.vector(name, 1)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// vector returns the named vector, of exactly n numbers. It is not a copy.
func (p progress) vector(name string, n int) ([]int64, error) {
	v, ok := p[name]
	if !ok {
		return nil, fmt.Errorf("%q is missing", name)
	}
	if len(v) != n {
		return nil, fmt.Errorf("%q has %d numbers, not %d", name, len(v), n)
	}
	return v, nil
}

// counts reads n pairs of duels and wins that add up to told duels.
func (p progress) counts(duels, wins string, n int, told int64) (d, w []int64, err error) {
	if d, err = p.vector(duels, n); err != nil {
		return nil, nil, err
	}
	if w, err = p.vector(wins, n); err != nil {
		return nil, nil, err
	}
	left := told
	for i := range d {
		if w[i] < 0 || d[i] < w[i] || d[i] > left {
			return nil, nil, fmt.Errorf("%q %d: %d wins in %d duels, of %d in all", wins, i, w[i], d[i], told)
		}
		left -= d[i]
	}
	return d, w, nil
}

// arms reads distinct arms below k.
func (p progress) arms(name string, k int) ([]int, error) {
	v, ok := p[name]
	if !ok {
		return nil, fmt.Errorf("%q is missing", name)
	}
	arms := make([]int, len(v))
	seen := make([]bool, k)
	for i, x := range v {
		if x < 0 || x >= int64(k) || seen[x] {
			return nil, fmt.Errorf("%q: %d is no arm below %d, or is there twice", name, x, k)
		}
		seen[x] = true
		arms[i] = int(x)
	}
	return arms, nil
}

// ascending reads at least one arm, distinct and in ascending order.
func (p progress) ascending(name string, k int) ([]int, error) {
	arms, err := p.arms(name, k)
	if err == nil && (len(arms) == 0 || !slices.IsSorted(arms)) {
		err = fmt.Errorf("%q: no arms, or out of order", name)
	}
	return arms, err
}

func numbers(arms []int) []int64 {
	v := make([]int64, len(arms))
	for i, a := range arms {
		v[i] = int64(a)
	}
	return v
}
