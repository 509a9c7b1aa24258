// Package revisit takes later looks: it reads rows of codes of the arms that earlier looks have left, tile by tile, and
// drops those whose upper bound is below the threshold. It bounds single arms by their whole rows for others.
package revisit
