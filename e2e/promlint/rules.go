package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

// readRules reads a file of rules as Prometheus does. Every alert must have a severity and
// instructions.
func readRules(path string) (all []expression, wrong []error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, []error{err}
	}
	groups, errs := rulefmt.Parse(text, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		return nil, errs
	}
	for _, group := range groups.Groups {
		for _, rule := range group.Rules {
			at := group.Name + ", " + rule.Record + rule.Alert
			all = append(all, expression{at, rule.Expr})
			if rule.Alert == "" {
				continue
			}
			if rule.Labels["severity"] == "" {
				wrong = append(wrong, fmt.Errorf("%s: it has no label severity", at))
			}
			for _, name := range []string{"summary", "description"} {
				if rule.Annotations[name] == "" {
					wrong = append(wrong, fmt.Errorf("%s: it has no annotation %s", at, name))
				}
			}
		}
	}
	return all, wrong
}
