//go:build race

package cpu

// UnderRace reduces the draws, since each takes ten times as long.
const UnderRace = true
