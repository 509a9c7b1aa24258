package service

import (
	"context"
	"net/http"
	"time"

	"thresher/choice/serve/slates"
	"thresher/service/catalog"
	"thresher/service/problem"
)

// slateRoutes are the routes of slates. Requests for slates need the scope write, because
// slates are recorded and older ones removed.
func (s *Server) slateRoutes() []route {
	const all = "/v1/collections/{name}/slates"
	return []route{
		{method: http.MethodPut, pattern: all, scope: write, handle: s.putSlates},
		{method: http.MethodGet, pattern: all, scope: read, handle: s.getSlates},
		{method: http.MethodDelete, pattern: all, scope: write, handle: s.deleteSlates},
		{method: http.MethodPost, pattern: all + "/recommend", scope: write, handle: s.recommendSlates},
		{method: http.MethodPost, pattern: all + "/feedback", scope: write, handle: s.rewardSlates},
		{method: http.MethodDelete, pattern: all + "/users", scope: write, handle: s.forgetUsers},
	}
}

func (s *Server) slateOptions() *slates.Options {
	l := &s.o.Limits
	return &slates.Options{Memory: l.SlateMemory, Slates: l.Slates, Keep: s.o.SlateKeep, Threads: s.o.Threads}
}

func (s *Server) slateLimits() slates.Limits {
	return slates.Limits{Users: s.o.Limits.SlateUsers, K: s.o.Limits.SlateItems, Results: s.o.Limits.Results}
}

// SlateMemory returns the bytes that slates take in memory; for metrics.
func (s *Server) SlateMemory() int64 { return s.slates.Bytes() }

// slateVersion implements slates.Version.
type slateVersion struct{ *catalog.Version }

func (v slateVersion) Number() int64   { return v.Info().Version }
func (v slateVersion) IDs() slates.IDs { return v.Version.IDs() }

// withSlates reads the JSON body of a request about a collection's slates, in its turn, and
// calls answer while the collection is held.
func (s *Server) withSlates(r *request, answer func(ctx context.Context, name string, body []byte) error) error {
	name := r.PathValue("name")
	if _, err := s.catalog.Get(name); err != nil {
		return err
	}
	if mediaType(r.Request) != jsonType {
		return unsupported(r.Request, jsonType)
	}
	return s.inTurn(r, func(in *input) error {
		body, err := in.all()
		if err != nil {
			return err
		}
		ctx, cancel := s.within(r.Context())
		defer cancel()
		release, err := s.slates.Hold(ctx, name) // not earlier, because a sender may be slow
		if err != nil {
			return s.explainWait(err)
		}
		defer release()
		if _, err := s.catalog.Get(name); err != nil {
			return err
		}
		return s.explainWait(answer(ctx, name, body))
	})
}

func (s *Server) putSlates(r *request, w http.ResponseWriter) error {
	return s.withSlates(r, func(ctx context.Context, name string, body []byte) error {
		v, err := s.catalog.Use(name, 0)
		if err != nil {
			return err
		}
		defer v.Release()
		settings, err := slates.DecodeSettings(body, v.Len())
		if err != nil {
			return err
		}
		info, err := s.slates.Put(ctx, name, slateVersion{v}, settings)
		if err != nil {
			return err
		}
		return sendInfo(w, info)
	})
}

func (s *Server) getSlates(r *request, w http.ResponseWriter) error {
	name := r.PathValue("name")
	if _, err := s.catalog.Get(name); err != nil {
		return err
	}
	room, err := s.slates.InfoBytes(name)
	if err != nil {
		return err
	}
	if room <= smallBody {
		room = 0
	}
	return s.bounded(r, room, func(context.Context) error {
		info, err := s.slates.Info(name)
		if err != nil {
			return err
		}
		return sendInfo(w, info)
	})
}

// sendInfo sends the description of slates. If its memory is needed by others, the client
// must read it at a minimum rate.
func sendInfo(w http.ResponseWriter, info []byte) error {
	if paced := pacedWriter(w); paced != nil && len(info) > smallBody {
		paced.pace.rate = max(paced.pace.rate, settingsRate)
	}
	jsonHeader(w.Header())
	return send(w, http.StatusOK, append(info, '\n'))
}

// settingsRate is the minimum rate of reading large settings, in bytes a second.
const settingsRate = 256 << 10

// forgetUsers forgets users; unknown users are not an error.
func (s *Server) forgetUsers(r *request, w http.ResponseWriter) error {
	return s.withSlates(r, func(ctx context.Context, name string, body []byte) error {
		users, err := slates.DecodeUsers(body, s.slateLimits())
		if err != nil {
			return err
		}
		if err := s.slates.Forget(ctx, name, users); err != nil {
			return err
		}
		w.WriteHeader(http.StatusNoContent)
		return nil
	})
}

func (s *Server) deleteSlates(r *request, w http.ResponseWriter) error {
	name := r.PathValue("name")
	if _, err := s.catalog.Get(name); err != nil {
		return err
	}
	ctx, cancel := s.within(r.Context())
	defer cancel()
	if err := s.slates.Drop(ctx, name, nil); err != nil {
		return s.explainWait(err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *Server) recommendSlates(r *request, w http.ResponseWriter) error {
	key, err := idempotencyKey(r)
	if err != nil {
		return err
	}
	return s.withSlates(r, func(ctx context.Context, name string, body []byte) error {
		req, err := slates.DecodeRequest(body, s.slateLimits())
		if err != nil {
			return err
		}
		v, err := s.catalog.Use(name, 0)
		if err != nil {
			return err
		}
		defer v.Release()
		defer s.batches.Interactive()()
		if req.TimeoutMS > 0 {
			left := time.Duration(req.TimeoutMS*float64(time.Millisecond)) - r.queued
			if left <= 0 {
				return problem.New(problem.Deadline, "the deadline passed while the request waited for a slot").In("timeout_ms")
			}
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, left)
			defer cancel()
		}
		began := time.Now()
		a, err := s.slates.Recommend(ctx, name, slateVersion{v}, req, key, hashed(string(body)))
		if err != nil {
			return err
		}
		took := time.Since(began)
		a.TookMS = milliseconds(took)
		if s.o.Metrics != nil {
			s.o.Metrics.Slated(name, req.Algorithm, took, len(a.Slates), a.Evaluations)
		}
		return writeJSON(w, http.StatusOK, a)
	})
}

func (s *Server) rewardSlates(r *request, w http.ResponseWriter) error {
	return s.withSlates(r, func(ctx context.Context, name string, body []byte) error {
		all, one, err := slates.DecodeFeedback(body, s.slateLimits())
		if err != nil {
			return err
		}
		accepted, err := s.slates.Feedback(ctx, name, all)
		if err != nil {
			return err
		}
		if s.o.Metrics != nil {
			for i := range accepted {
				if a := &accepted[i]; a.New {
					s.o.Metrics.Rewarded(name, a.Rewards, a.Sum)
				}
			}
		}
		if one {
			return writeJSON(w, http.StatusOK, accepted[0])
		}
		return writeJSON(w, http.StatusOK, struct {
			Feedback []slates.Accepted `json:"feedback"`
		}{accepted})
	})
}
