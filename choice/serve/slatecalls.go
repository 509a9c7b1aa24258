package serve

import (
	"context"
	"net/http"
	"time"

	"thresher/choice/serve/slates"
	"thresher/service/catalog"
	"thresher/service/extension"
	"thresher/service/problem"
)

// Routes implements extension.Extension. Requests for slates need the scope write, because
// slates are recorded and older ones removed.
func (s *Slates) Routes() []extension.Route {
	const all = "/v1/collections/{name}/slates"
	return []extension.Route{
		{Method: http.MethodPut, Pattern: all, Write: true, Handle: s.put},
		{Method: http.MethodGet, Pattern: all, Handle: s.get},
		{Method: http.MethodDelete, Pattern: all, Write: true, Handle: s.delete},
		{Method: http.MethodPost, Pattern: all + "/recommend", Write: true, Handle: s.recommend},
		{Method: http.MethodPost, Pattern: all + "/feedback", Write: true, Handle: s.reward},
		{Method: http.MethodDelete, Pattern: all + "/users", Write: true, Handle: s.forget},
	}
}

func (s *Slates) limits() slates.Limits {
	return slates.Limits{Users: s.o.SlateUsers, K: s.o.SlateItems, Results: s.o.Results}
}

// version implements slates.Version: a collection as one block, also if it changes by rows.
type version struct {
	*catalog.Version
	number int64
	writes uint64
}

func (v version) Number() int64   { return v.number }
func (v version) Writes() uint64  { return v.writes }
func (v version) IDs() slates.IDs { return v.Version.IDs() }

// use returns what a collection holds now. The caller calls release.
func (s *Slates) use(ctx context.Context, name string) (v version, release func(), err error) {
	now, err := s.catalog.Use(name, 0)
	if err != nil {
		return v, nil, err
	}
	number, writes := now.State()
	if v.number = number; writes != nil {
		v.writes = *writes
	}
	if v.Version, err = s.catalog.Whole(ctx, now); err != nil {
		now.Release()
		return v, nil, err
	}
	return v, func() { v.Release(); now.Release() }, nil
}

// call is a call about the slates of a collection while the collection is held.
type call struct {
	extension.Call
	name   string
	body   []byte
	queued time.Duration
}

// held reads the JSON body of a request about a collection's slates, in its turn, and
// calls answer while the collection is held.
func (s *Slates) held(r extension.Call, answer func(ctx context.Context, c *call) error) error {
	name := r.PathValue("name")
	if _, err := s.catalog.Get(name); err != nil {
		return err
	}
	return r.InTurn(func(body []byte, queued time.Duration) error {
		return r.Within(func(ctx context.Context) error {
			release, err := s.store.Hold(ctx, name) // not earlier, because a sender may be slow
			if err != nil {
				return err
			}
			defer release()
			if _, err := s.catalog.Get(name); err != nil {
				return err
			}
			return answer(ctx, &call{r, name, body, queued})
		})
	})
}

func (s *Slates) put(r extension.Call, _ http.ResponseWriter) error {
	return s.held(r, func(ctx context.Context, c *call) error {
		v, release, err := s.use(ctx, c.name)
		if err != nil {
			return err
		}
		defer release()
		settings, err := slates.DecodeSettings(c.body, v.Len())
		if err != nil {
			return err
		}
		info, err := s.store.Put(ctx, c.name, v, settings)
		if err != nil {
			return err
		}
		return c.AnswerText(info, settingsRate)
	})
}

// settingsRate is the minimum rate of reading large settings, in bytes a second.
const settingsRate = 256 << 10

func (s *Slates) get(r extension.Call, _ http.ResponseWriter) error {
	name := r.PathValue("name")
	if _, err := s.catalog.Get(name); err != nil {
		return err
	}
	room, err := s.store.InfoBytes(name)
	if err != nil {
		return err
	}
	return r.Bounded(room, func(context.Context) error {
		info, err := s.store.Info(name)
		if err != nil {
			return err
		}
		return r.AnswerText(info, settingsRate)
	})
}

// forget forgets users; unknown users are not an error.
func (s *Slates) forget(r extension.Call, w http.ResponseWriter) error {
	return s.held(r, func(ctx context.Context, c *call) error {
		users, err := slates.DecodeUsers(c.body, s.limits())
		if err != nil {
			return err
		}
		if err := s.store.Forget(ctx, c.name, users); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

func (s *Slates) delete(r extension.Call, w http.ResponseWriter) error {
	name := r.PathValue("name")
	if _, err := s.catalog.Get(name); err != nil {
		return err
	}
	if err := r.Within(func(ctx context.Context) error { return s.store.Drop(ctx, name, nil) }); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Slates) recommend(r extension.Call, w http.ResponseWriter) error {
	key, err := r.Key()
	if err != nil {
		return err
	}
	return s.held(r, func(ctx context.Context, c *call) error {
		limits, deadline := s.limits(), "deadline_ms"
		limits.Former = func(name string) {
			deadline = name
			w.Header().Set("Deprecation", extension.DeprecatedSince)
		}
		req, err := slates.DecodeRequest(c.body, limits)
		if err != nil {
			return err
		}
		v, release, err := s.use(ctx, c.name)
		if err != nil {
			return err
		}
		defer release()
		defer s.interactive()()
		if req.DeadlineMS > 0 {
			left := time.Duration(req.DeadlineMS*float64(time.Millisecond)) - c.queued
			if left <= 0 {
				return problem.New(problem.Deadline, "the deadline passed while the request waited for a slot").In(deadline)
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, left)
			defer cancel()
		}
		began := time.Now()
		a, err := s.store.Recommend(ctx, c.name, v, req, key, extension.Hash(string(c.body)))
		if err != nil {
			return err
		}
		took := time.Since(began)
		a.TookMS = float64(took) / float64(time.Millisecond)
		if s.o.Metrics != nil {
			s.o.Metrics.slated(c.name, req.Algorithm, took, len(a.Slates), a.Evaluations)
		}
		return c.Answer(http.StatusOK, a)
	})
}

func (s *Slates) reward(r extension.Call, _ http.ResponseWriter) error {
	return s.held(r, func(ctx context.Context, c *call) error {
		all, one, err := slates.DecodeFeedback(c.body, s.limits())
		if err != nil {
			return err
		}
		accepted, err := s.store.Feedback(ctx, c.name, all)
		if err != nil {
			return err
		}
		if s.o.Metrics != nil {
			for i := range accepted {
				if a := &accepted[i]; a.New {
					s.o.Metrics.rewarded(c.name, a.Rewards, a.Sum)
				}
			}
		}
		if one {
			return c.Answer(http.StatusOK, accepted[0])
		}
		return c.Answer(http.StatusOK, struct {
			Feedback []slates.Accepted `json:"feedback"`
		}{accepted})
	})
}
