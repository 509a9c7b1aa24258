package figures

import (
	"slices"

	"thresher/choice/slate"
	"thresher/choice/slate/trial"
)

// afsmUCB are the figures and tables of the AFSM-UCB paper.
var afsmUCB = slices.Concat(
	section7("1", trial.News, "news"),
	section7("2", trial.Movies, "MovieLens 100K"),
	section7("3", trial.Songs, "songs in place of the Million Song Dataset"),
	[]*Figure{afsmTable1, afsmProp2, afsmSensitivity},
)

const afsmPaper = "AFSM-UCB"

// lostNumbers is what the text of the paper that we have lacks of its experiments.
const lostNumbers = "all numbers of sections 7 and 14, and T; arXiv 2006.00661 has them, this text does not"

// afsmLines are the algorithms of section 7. Which of two readings CGreedy is the text does not say, so both are drawn.
func afsmLines() []slate.Algorithm {
	return []slate.Algorithm{slate.AFSM, slate.LSBGreedy, slate.ModifiedGreedy, slate.BetterGreedy, slate.Random}
}

// afsmName is the name of a line.
func afsmName(a slate.Algorithm) string {
	switch a {
	case slate.ModifiedGreedy:
		return "CGreedy read as modified"
	case slate.BetterGreedy:
		return "CGreedy read as better"
	case slate.Random:
		return "RANDOM"
	}
	return trial.Title(a)
}

func afsmNames(algorithms []slate.Algorithm) (names []string) {
	for _, a := range algorithms {
		names = append(names, afsmName(a))
	}
	return names
}
