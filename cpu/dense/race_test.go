//go:build race

package dense

// underRace reduces the draws, since each takes ten times as long.
const underRace = true
