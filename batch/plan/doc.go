// Package plan chooses how queries are answered: which looks eliminate atoms, or a
// dense scan, by forecasts of what each look keeps (curves.go) and of what that costs
// on this machine (costs.go). docs/planning.md has the model and how well it does.
package plan
