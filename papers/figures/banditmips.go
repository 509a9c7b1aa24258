package figures

// banditMIPS are the figures and tables of the BanditMIPS paper.
var banditMIPS []*Figure
