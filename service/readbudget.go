package service

import "thresher/dataset"

// readShare is the part of the memory of all collections that one thing may take which is decoded as a whole.
const readShare = 4

// reading limits the memory that reading a client's file takes.
func (l *Limits) reading() *dataset.Budget {
	if l.Read > 0 || l.Memory == 0 {
		return dataset.BudgetOf(l.Read, "read_limit")
	}
	return dataset.BudgetOf(max(l.Memory/readShare, 1), "read_limit, or else limits.memory,")
}
