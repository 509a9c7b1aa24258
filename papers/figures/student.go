package figures

import "gonum.org/v1/gonum/stat/distuv"

// student is the 97.5% quantile of Student's distribution, for intervals of 95%.
func student(freedom int) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(freedom)}.Quantile(.975)
}
