// Package plan chooses how queries are answered: by which looks, or by a dense scan. It
// forecasts the share of arms that each look keeps (curves.go) and the cost of each plan on
// this machine (costs.go). docs/planning.md describes the model and its accuracy.
package plan
