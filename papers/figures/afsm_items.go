package figures

import (
	"fmt"
	"path/filepath"
	"sync"

	"thresher/choice/slate/items"
	"thresher/choice/slate/trial"
)

// recommended are the items of an experiment and, where they have users of their own, their weights.
type recommended struct {
	set     *items.Set
	weights [][]float64
}

// shelf keeps the items of the last seed, which all points of a figure share.
type shelf struct {
	mu   sync.Mutex
	seed uint64
	kept *recommended
}

// take returns the items of a data set, made with the run's seed as those of `slate simulate` are.
func (h *shelf) take(e *Env, s *Settings, data string) (*recommended, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.kept != nil && h.seed == e.Seed {
		return h.kept, nil
	}
	var r recommended
	var err error
	switch data {
	case trial.News:
		r.set, err = items.News(s.Int("articles"), s.Int("topics"), e.Seed)
	case trial.Songs:
		var songs *items.Songs
		if songs, err = items.GenerateSongs(s.Int("songs"), s.Int("genres"), s.Int("listeners"), e.Seed); err == nil {
			r.set, r.weights = &songs.Set, songs.Weights
		}
	default:
		if e.Folder == "" {
			return nil, fmt.Errorf("%w: no folder of data, which would have %s", ErrMissing, data)
		}
		if r.set, err = items.MovieLens(filepath.Join(e.Folder, data)); err != nil {
			err = fmt.Errorf("%w: %w", ErrMissing, err)
		}
	}
	if err != nil {
		return nil, err
	}
	h.seed, h.kept = e.Seed, &r
	return &r, nil
}
