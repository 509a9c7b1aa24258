// Package plot draws means of repeated trials with bands of one standard
// deviation, as a PNG or SVG that stays legible without colours.
package plot
