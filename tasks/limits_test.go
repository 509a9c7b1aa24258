package tasks

import (
	"strings"
	"testing"

	"thresher/collection"
)

func TestCheckLimitName(t *testing.T) {
	for _, c := range []struct {
		name string
		m    collection.Metric
		want string // part of the error, "" for none
	}{
		{"min_score", collection.InnerProduct, ""},
		{"max_score", collection.Cosine, ""},
		{"max_distance", collection.Euclidean, ""},
		{"min_distance", collection.Euclidean, ""},
		{"k", collection.Euclidean, ""},
		{"min_score", collection.Euclidean, "max_distance says it"},
		{"max_score", collection.Euclidean, "min_distance says it"},
		{"max_distance", collection.InnerProduct, "min_score says it"},
		{"min_distance", collection.Cosine, "max_score says it"},
	} {
		err := CheckLimitName(c.name, c.m)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s by %v: %v, want %q", c.name, c.m, err, c.want)
		}
	}
}
