package figures

// afsmUCB are the figures and tables of the AFSM-UCB paper.
var afsmUCB []*Figure
