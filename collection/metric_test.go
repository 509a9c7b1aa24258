package collection

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// TestMetricNames: every name that a library or database uses for a metric means it, in any
// spelling; names of other numbers do not.
func TestMetricNames(t *testing.T) {
	if got := Metrics(); !slices.Equal(got, []string{"ip", "cosine", "l2"}) {
		t.Fatalf("metrics %q", got)
	}
	for m, names := range map[Metric][]string{
		InnerProduct: {
			"ip", "IP", "inner_product", "innerproduct", "InnerProduct", // FAISS, hnswlib, Milvus, DuckDB
			"METRIC_INNER_PRODUCT", "dot", "Dot", "dotproduct", "dotProduct", "dot_product", "dot-product", // FAISS, Qdrant, Weaviate, Pinecone, MongoDB, Elasticsearch
			"max_inner_product", "vector_ip_ops", "dot_score", // Elasticsearch, pgvector, sentence-transformers
		},
		Cosine: {"cosine", "COSINE", "Cosine", "cos", "cosine_similarity", "cosinesimil", "vector_cosine_ops", "cos_sim"},
		Euclidean: {
			"l2", "L2", "METRIC_L2", "euclidean", "Euclid", "EUCLIDEAN", "l2_norm", "l2-squared", "l2_squared", "l2sq",
			"squared_l2", "sqeuclidean", "squared_euclidean", "euclidean_squared", "vector_l2_ops",
		},
	} {
		for _, name := range names {
			if got, err := ParseMetric(name); err != nil || got != m {
				t.Errorf("%q is %v, %v; want %v", name, got, err, m)
			}
		}
	}
	for name, says := range map[string]string{
		"manhattan": "", "l1": "", "hamming": "", "x": "", " ": "", "Metric(0)": "", "0": "",
		"angular": "nearest by cosine", "cosine_distance": "nearest by cosine", "l2_distance": "nearest by l2", "minkowski": "nearest by l2",
	} {
		_, err := ParseMetric(name)
		if err == nil || !strings.Contains(err.Error(), MetricChoice) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for name, m := range MetricNames() {
		if got, err := ParseMetric(name); err != nil || got != m || plainName(name) != name || nearNames[name] != 0 {
			t.Errorf("%q is %v, %v; listed as %v", name, got, err, m)
		}
	}
	for _, name := range Metrics() {
		if m, err := ParseMetric(name); err != nil || m.String() != name || MetricNames()[name] != m || !strings.Contains(MetricChoice, name+" (") {
			t.Errorf("%q is %v, %v, of the names %v", name, m, err, MetricNames()[name])
		}
	}
}

// TestNoMetric: the zero Metric and an empty name are no metric, but in records of before.
func TestNoMetric(t *testing.T) {
	if _, err := ParseMetric(""); !errors.Is(err, ErrNoMetric) {
		t.Errorf("an empty name: %v", err)
	}
	if m, err := StoredMetric(""); err != nil || m != InnerProduct {
		t.Errorf("a record without one: %v, %v", m, err)
	}
	if m, err := StoredMetric("cosine"); err != nil || m != Cosine {
		t.Errorf("a record of cosine: %v, %v", m, err)
	}
	var zero Metric
	if err := zero.Check(); !errors.Is(err, ErrNoMetric) || zero.String() != "Metric(0)" {
		t.Errorf("%v: %v", zero, err)
	}
	if err := Metric(4).Check(); err == nil || errors.Is(err, ErrNoMetric) || !strings.Contains(err.Error(), "Metric(4) is none of ip") {
		t.Errorf("metric 4: %v", err)
	}
	rows := make([]float32, 6)
	for _, o := range []*Options{nil, {}, {Seed: 1, Basis: Raw}} {
		if _, err := Build(t.Context(), rows, 3, o); !errors.Is(err, ErrNoMetric) {
			t.Errorf("built with %+v: %v", o, err)
		}
	}
	if _, err := Build(t.Context(), rows, 3, &Options{Metric: 9}); err == nil || !strings.Contains(err.Error(), "Metric(9)") {
		t.Errorf("built with metric 9: %v", err)
	}
}
