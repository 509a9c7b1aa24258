package figures

// boundedME are the figures and tables of the BoundedME paper.
var boundedME = []*Figure{boundedME1, boundedME2, boundedME3, boundedME4, boundedMETable1}
