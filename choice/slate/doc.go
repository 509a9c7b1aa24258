// Package slate chooses diversified lists of items under budgets and limits, and
// learns from rewards what a user values: the linear submodular bandit with
// semi-bandit feedback under the intersection of knapsacks and a k-system
// (Takemori, Sato, Sonoda, Singh, Ohkuma, "Submodular bandit problem under
// multiple constraints", UAI 2020).
//
// The value of a list is sum_i w_i f_i(S). The f_i are known and submodular, an Objective;
// the weights w >= 0 are a user's and unknown, and an Estimator learns them. Items are an
// Objective with costs and groups; a Constraint is Items with Limits. A Planner chooses
// Slates:
//
//	objective, err := slate.NewCoverage(n, d, vectors)
//	items, err := slate.NewItems(objective, slate.Attributes{Knapsacks: 1, Costs: prices})
//	constraint, err := items.Constrain(slate.Limits{Length: 10, Budgets: []float64{25}})
//	user, err := slate.NewEstimator(d, 1)
//	planner := slate.NewPlanner(constraint)
//	s, err := planner.Recommend(user, slate.Options{})
//	err = user.Observe(items, s.Items(), rewards)
//
// choice/docs/slates.md has the model, the guarantee and its proof.
package slate
