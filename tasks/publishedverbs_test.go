package tasks

import (
	"errors"
	"testing"

	"thresher/batch"
)

// TestCheckPublished: verbs that take published methods take the options that a method has, and no others; the rest refuse
// methods and options by name, and say which verbs take them. An option that is unknown here makes the table fail.
func TestCheckPublished(t *testing.T) {
	beta := .5
	given := map[string]batch.Published{
		"sigma": {Sigma: batch.Sigma{Given: 1}}, "beta": {Beta: &beta}, "sampling": {Sampling: batch.WithReplacement},
		"bins": {Bins: 4}, "union": {Union: batch.UnionCorrected}, "warm": {Warm: 2},
	}
	field := func(err error) string {
		var e *batch.RequestError
		if !errors.As(err, &e) {
			return ""
		}
		return e.Field
	}
	for _, v := range verbsOfMethods() {
		for _, m := range batch.Methods() {
			for _, name := range batch.PublishedNames() {
				p, ok := given[name]
				if !ok {
					t.Fatalf("no value of %s", name)
				}
				want := field(p.Check(m)) // "" if the method has the option
				if v.why != "" {
					want = "published." + name
					if published := p.Check(m) == nil || m == batch.BoundedME || m == batch.BucketAE || m == batch.BanditMIPS || m == batch.BanditMIPSAlpha || m == batch.BanditMIPSBeta; published {
						want = "method"
					}
				}
				if got := field(CheckPublished(v.name, m, &p)); got != want {
					t.Errorf("%s by %s with %s: refused %q, want %q", v.name, m, name, got, want)
				}
			}
			if err := CheckPublished(v.name, m, &batch.Published{}); (err != nil) != (v.why != "" && field(err) == "method") {
				t.Errorf("%s by %s: %v", v.name, m, err)
			}
		}
	}
	const want = "certify takes no sigma: the answers to certify are candidates, which published methods do not take; search, recall, graph and pursuit do"
	p := given["sigma"]
	var e *batch.RequestError
	if err := CheckPublished("certify", batch.Certain, &p); !errors.As(err, &e) || e.Err.Error() != want {
		t.Errorf("%v", err)
	}
}
