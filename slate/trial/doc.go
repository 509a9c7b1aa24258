// Package trial simulates recommending slates to users whose weights the simulation knows
// and the algorithms do not: the experiments of UAI 2020, section 7.
package trial
