//go:build !race

package dense

const underRace = false
