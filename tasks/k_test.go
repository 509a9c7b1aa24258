package tasks

import (
	"errors"
	"testing"
)

// TestK: a k is at least 1 and at most what is accepted; above the number of vectors it is reduced only if it may be.
func TestK(t *testing.T) {
	for _, x := range []struct {
		max  int
		k    int64
		want string
	}{
		{0, 1, ""}, {0, 0, "k is 0, at least 1 is wanted"}, {0, -3, "k is -3, at least 1 is wanted"},
		{5, 5, ""}, {5, 6, "k is 6, at most 5 is accepted"},
		{0, maxK, ""}, {0, maxK + 1, "k is 2147483648, at most 2147483647 is accepted"},
	} {
		k, err := KLimits{Max: x.max}.Check(x.k)
		text := ""
		if e := new(KError); errors.As(err, &e) {
			text = e.Error()
		}
		if text != x.want || err == nil && int64(k) != x.k {
			t.Errorf("%d of at most %d: %d, %q; %q is wanted", x.k, x.max, k, text, x.want)
		}
	}
	if k, err := FitK(7, 6, true); k != 6 || err != nil {
		t.Errorf("reduced to %d, %v", k, err)
	}
	if _, err := FitK(7, 6, false); err == nil || err.Error() != "k is 7, and there are 6 vectors" {
		t.Error(err)
	}
	if k, err := FitK(6, 6, false); k != 6 || err != nil {
		t.Errorf("%d, %v", k, err)
	}
}

// TestDefaultK: a query's own k goes before that of all, and this before the default.
func TestDefaultK(t *testing.T) {
	for _, x := range []struct {
		max, own, all int
		hasMinScore   bool
		want          int
		reduced       bool
	}{
		{100, 3, 5, true, 3, false}, {100, 0, 5, true, 5, false}, {100, 0, 0, true, 100, true},
		{0, 0, 0, true, 0, true}, {100, 0, 0, false, defaultK, true}, {4, 0, 0, false, 4, true}, {0, 0, 0, false, defaultK, true},
	} {
		if k, reduced := (KLimits{Max: x.max}).Of(x.own, x.all, x.hasMinScore); k != x.want || reduced != x.reduced {
			t.Errorf("%+v: %d, %v", x, k, reduced)
		}
	}
}
