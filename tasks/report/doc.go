// Package report makes a page of what was found about answers of any origin: their recall with its interval, by
// rank and by how hard a query was, what the search that they are compared with promises, how its elimination went,
// its time beside that of a dense scan, and the neighbours that the answers lack.
//
// [Figures] are the numbers, which are the report as JSON. [Write] makes one HTML file of them that needs no other:
// its plots are SVG within it.
package report
