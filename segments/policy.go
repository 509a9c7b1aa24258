package segments

import "math"

const (
	// sealRows is how many rows without codes are worth a segment of their own, sealPart the part of all rows
	// that is, if that is more: a tail is scanned, and scanning a fiftieth of the rows takes
	// about as long as looking at a quarter of them.
	sealRows, sealPart = 4096, 50
	// fan is the factor between the sizes of segments whose rows were coded a different number of times, as
	// they are when a set has grown by upserts.
	fan = 8
	// maxBeside is how many segments there are at most beside the largest, not counting those that wait for being sealed.
	maxBeside = 5
)

// grownGeneration is how often rows of a segment of n rows have been coded, if it came about by upserts.
func grownGeneration(n int) int {
	if n <= sealRows {
		return 1
	}
	return 1 + int(math.Log(float64(n)/sealRows)/math.Log(fan))
}

// standing is what a policy knows of a segment.
type standing struct {
	rows, deleted int
	generation    int // 0: it has no codes
}

// choose returns the indexes of the segments that are to become one, none if nothing is due, and the generation of
// that one.
//
// Rows without codes are sealed when there are seal of them and a fiftieth of all. If there is no room for one more segment, those of the lowest generation are
// merged with them. Let f(p, g) be how many seals p places take if no row is coded more than g times: one place
// is filled last and takes what g - 1 codings allow of p places, and one more; the others take f(p-1, g).
// So f(p, g) = f(p, g-1) + f(p-1, g) + 1, which is C(p+g, g) - 1, and no policy takes more. With 6 places that is 6, 27, 83, 209, 461 seals of
// one generation and more; sets of 8^(g-1) times 4,096 rows have fewer, because from 204,800 rows on a
// seal is a fiftieth of all. So a row is coded at most ceil(log_8(n/4096)) + 1 times in a set that has grown to n rows.
//
// Beside that, a segment more than half of which has been deleted is coded again without it. That is paid for by the
// deletions, and so its generation stays.
func choose(all []standing, seal int) (chosen []int, generation int) {
	var waiting, total, coded int
	lowest := math.MaxInt
	for _, s := range all {
		total += s.rows - s.deleted
		if s.generation == 0 {
			waiting += s.rows
		} else {
			coded++
			lowest = min(lowest, s.generation)
		}
	}
	if waiting >= max(seal, total/sealPart) {
		full := coded > maxBeside
		generation = 1
		if 2*waiting > total { // most rows were written at once, and are not to be coded again with the next few
			generation = grownGeneration(waiting)
		}
		for i, s := range all {
			if s.generation == 0 || full && s.generation == lowest {
				chosen, generation = append(chosen, i), max(generation, s.generation+1)
			}
		}
		return chosen, generation
	}
	for i, s := range all {
		if s.generation > 0 && 2*s.deleted > s.rows {
			return []int{i}, s.generation
		}
	}
	return nil, 0
}
