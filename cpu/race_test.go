//go:build race

package cpu

// underRace reduces the draws, since each takes ten times as long.
const underRace = true
