//go:build race

package dataset

// underRace: pools drop what is put into them at random, so that allocations cannot be counted.
const underRace = true
