package items

import (
	"fmt"
	"math"
	"math/rand/v2"

	"thresher/internal/philox"
)

// Songs is what the simulated listeners of GenerateSongs leave: items, and the listeners' weights.
type Songs struct {
	Set
	// Weights are those of each listener, a number for each genre, of sum 1: the shares of the genres in the songs
	// that the listener likes.
	Weights [][]float64
}

// Of the stand-in for the Million Song Dataset. The text of the paper gives the first two only.
const (
	unliked      = .47  // share of songs that cover no genre by .01: nobody likes them
	songDecay    = .8   // popularity falls with the rank to this power
	genreDecay   = .7   // so does that of genres
	furtherMost  = 5    // genres that a song has beside its first one, at most
	furtherPopul = .6   // the chance of each for the most popular song; it falls with the square of the rank
	otherGenre   = .05  // a listener's taste for genres that are not among the favourites
	favourites   = 4    // most favourite genres of a listener
	usualSeconds = 230. // median length of a song, in seconds
	spreadOfLogs = .35  // standard deviation of the logarithm of the length
)

// GenerateSongs stands in for section 7.3 of the paper, whose data, the Million Song Dataset, are not here. What it
// has in common with them is what the text says of them: popular songs cover several genres well, about 47% of the
// songs cover no genre by .01, and the cost of a song is its length in seconds, here log-normal and rounded.
//
// Listeners who like a few genres meet songs whose popularity falls with the rank. Popular songs have more genres. A
// song covers each of its genres by the listeners that like it, divided by those that like any song of the genre;
// we read the text's reference to Hiranandani et al. (UAI 2019) so. With 100 listeners, as in the paper, coverage
// below .01 means that none of them likes the song; the chance of a liking is scaled such that this is expected of
// 47% of the songs.
func GenerateSongs(songs, genres, listeners int, seed uint64) (*Songs, error) {
	if songs < 1 || genres < 2 || listeners < 1 {
		return nil, fmt.Errorf("items: %d songs of %d genres with %d listeners; at least 1, 2 and 1", songs, genres, listeners)
	}
	r := rand.New(philox.New(seed, 0))
	s := &Songs{Set: Set{
		IDs: make([]string, songs), Titles: make([]string, songs), CostNames: []string{"seconds"}, Costs: make([]float64, songs),
		GroupNames: make([]string, genres), Groups: make([][]int, songs), Features: make([]float64, songs*genres),
	}}
	share := make([]float64, genres)
	for g := range share {
		s.GroupNames[g] = fmt.Sprintf("genre %d", g)
		share[g] = math.Pow(float64(1+g), -genreDecay)
	}
	s.Topics = s.GroupNames
	for e := range songs {
		s.IDs[e] = fmt.Sprint(e)
		s.Costs[e] = max(1, math.Round(usualSeconds*math.Exp(spreadOfLogs*r.NormFloat64())))
		rank := 1 - float64(e)/float64(songs)
		count := 1
		for range furtherMost {
			if r.Float64() < furtherPopul*rank*rank {
				count++
			}
		}
		s.Groups[e] = someOf(r, share, count)
	}
	tastes := make([][]float64, listeners)
	for u := range tastes {
		tastes[u] = make([]float64, genres)
		for g := range tastes[u] {
			tastes[u][g] = otherGenre * r.Float64()
		}
		for _, g := range someOf(r, share, 1+r.IntN(favourites)) {
			tastes[u][g] = .5 + .5*r.Float64()
		}
	}
	s.listen(r, tastes)
	return s, nil
}

// someOf draws up to count different entries by their shares, in ascending order.
func someOf(r *rand.Rand, share []float64, count int) []int {
	in := make([]bool, len(share))
	for range min(count, len(share)) {
		var total float64
		for g, x := range share {
			if !in[g] {
				total += x
			}
		}
		at, left := -1, r.Float64()*total
		for g, x := range share {
			if in[g] {
				continue
			}
			at = g // the last one if rounding leaves something
			if left -= x; left < 0 {
				break
			}
		}
		in[at] = true
	}
	var some []int
	for g := range in {
		if in[g] {
			some = append(some, g)
		}
	}
	return some
}

// listen draws who likes what, and fills in features and weights.
func (s *Songs) listen(r *rand.Rand, tastes [][]float64) {
	appeal := s.appeal(tastes)
	scale := scaleOf(appeal)
	d := len(s.Topics)
	likes := make([]float64, s.Len()) // listeners who like a song
	of := make([]float64, d)          // listeners who like a song of a genre
	s.Weights = make([][]float64, len(tastes))
	for u, taste := range tastes {
		counts := make([]float64, d)
		var sum float64
		for e := range s.Len() {
			if r.Float64() >= scale*appeal[e][u] {
				continue
			}
			likes[e]++
			for _, g := range s.Groups[e] {
				counts[g]++
				sum++
			}
		}
		for g, x := range counts {
			if x > 0 {
				of[g]++
			}
		}
		if sum == 0 { // likes nothing here: the taste itself
			copy(counts, taste)
			for _, x := range taste {
				sum += x
			}
		}
		for g := range counts {
			counts[g] /= sum
		}
		s.Weights[u] = counts
	}
	for e, n := range likes {
		for _, g := range s.Groups[e] {
			if n > 0 {
				s.Features[e*d+g] = n / of[g]
			}
		}
	}
}

// appeal returns how much a listener likes a song, up to a common factor: [e][u] is the popularity of song e times
// the greatest taste of listener u for one of its genres.
func (s *Songs) appeal(tastes [][]float64) [][]float64 {
	all := make([][]float64, s.Len())
	for e := range all {
		popularity := math.Pow(float64(1+e), -songDecay)
		all[e] = make([]float64, len(tastes))
		for u, taste := range tastes {
			for _, g := range s.Groups[e] {
				all[e][u] = max(all[e][u], popularity*taste[g])
			}
		}
	}
	return all
}

// scaleOf returns the factor of appeal, a chance that is cut at 1, with which nobody is expected to like the share
// unliked of the songs.
func scaleOf(appeal [][]float64) float64 {
	expected := func(scale float64) (share float64) {
		for _, of := range appeal {
			nobody := 1.
			for _, x := range of {
				nobody *= 1 - min(1, scale*x)
			}
			share += nobody / float64(len(appeal))
		}
		return share
	}
	low, high := 0., 1.
	for expected(high) > unliked && high < 1e9 {
		high *= 2
	}
	for range 50 {
		if middle := (low + high) / 2; expected(middle) > unliked {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
