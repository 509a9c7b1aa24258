package figures

// beatTheMean are the figures and tables of the Beat-the-Mean paper.
var beatTheMean []*Figure
