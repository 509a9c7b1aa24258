package trial

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// Mean is an average over trials.
type Mean struct {
	Mean float64
	// SD is the standard deviation of single trials.
	SD float64
	// SE is the standard error of Mean. Repeats of one user are correlated, so it is computed
	// from the users' means; with a single user, from the repeats.
	SE float64
	// Of is the number of values that SE is computed from, ByUser: the users' means or, of a single user, the repeats.
	Of     int
	ByUser []float64
}

// Less returns the mean of the differences, by user, to another one of the same users.
func (m Mean) Less(other Mean) Mean {
	differences := make([][]float64, min(len(m.ByUser), len(other.ByUser)))
	for i := range differences {
		differences[i] = []float64{m.ByUser[i] - other.ByUser[i]}
	}
	return meanOf(differences)
}

// Band returns half the width of the 95% confidence interval of Mean, by Student's t: 12.7
// SE for two values, 1.96 SE for many. It is 0 for a single value.
func (m Mean) Band() float64 {
	if m.Of < 2 {
		return 0
	}
	return distuv.StudentsT{Sigma: 1, Nu: float64(m.Of - 1)}.Quantile(.975) * m.SE
}

// meanOf averages trials, the same number for each user.
func meanOf(byUser [][]float64) Mean {
	var all, users []float64
	for _, trials := range byUser {
		all = append(all, trials...)
		mean, _ := moments(trials)
		users = append(users, mean)
	}
	if len(users) == 1 {
		users = all
	}
	mean, sd := moments(all)
	_, spread := moments(users)
	return Mean{mean, sd, spread / math.Sqrt(float64(len(users))), len(users), users}
}

// moments returns mean and standard deviation, which is 0 for a single number.
func moments(x []float64) (mean, sd float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / math.Max(1, float64(len(x)-1)))
}
