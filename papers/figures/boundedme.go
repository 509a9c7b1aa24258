package figures

// boundedME are the figures and tables of the BoundedME paper.
var boundedME []*Figure
