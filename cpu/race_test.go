//go:build race

package cpu

// underRace says that every draw costs ten times as much.
const underRace = true
