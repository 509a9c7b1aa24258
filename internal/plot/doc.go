// Package plot draws means of repeated trials with bands around them, as a PNG or SVG that
// remains legible without colours.
package plot
