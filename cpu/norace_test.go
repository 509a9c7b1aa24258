//go:build !race

package cpu

const UnderRace = false
