// Package trial simulates recommending slates to users whose weights the simulation knows
// and the algorithms do not: the experiments of section 7 of "Submodular bandit problem under
// multiple constraints" (Takemori et al., UAI 2020), which package slate implements.
package trial
