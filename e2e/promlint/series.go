package main

import (
	"fmt"
	"os"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// series holds the labels of each metric of a scrape, by metric name.
type series map[string]map[string]bool

// readSeries reads metrics in the text format.
func readSeries(path string) (series, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	p := expfmt.NewTextParser(model.UTF8Validation)
	families, err := p.TextToMetricFamilies(f)
	if err != nil {
		return nil, err
	}
	// Prometheus adds these labels, and makes up.
	known := series{"up": {"instance": true, "job": true}}
	for name, family := range families {
		have := map[string]bool{"instance": true, "job": true}
		for _, m := range family.Metric {
			for _, l := range m.Label {
				have[l.GetName()] = true
			}
		}
		known[name] = have
		for _, m := range family.Metric {
			if m.Histogram == nil {
				continue
			}
			buckets := map[string]bool{"le": true}
			for l := range have {
				buckets[l] = true
			}
			known[name+"_bucket"], known[name+"_sum"], known[name+"_count"] = buckets, have, have
		}
	}
	return known, nil
}

// expression is an expression with its place in a file.
type expression struct{ at, text string }

// check returns an error for everything that an expression uses and the series lack.
func (s series) check(e expression) (wrong []error) {
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(e.text)
	if err != nil {
		return []error{fmt.Errorf("%s: %w in %s", e.at, err, e.text)}
	}
	parser.Inspect(tree, func(node parser.Node, _ []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		have, ok := s[selector.Name]
		if !ok {
			wrong = append(wrong, fmt.Errorf("%s: there is no metric %q", e.at, selector.Name))
			return nil
		}
		for _, m := range selector.LabelMatchers {
			if m.Name != labels.MetricName && !have[m.Name] {
				wrong = append(wrong, fmt.Errorf("%s: %s has no label %q", e.at, selector.Name, m.Name))
			}
		}
		return nil
	})
	return wrong
}
