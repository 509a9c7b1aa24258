package tournaments

import (
	"context"
	"testing"

	"thresher/duel"
	"thresher/service/problem"
)

// TestBadSpecs: each invalid spec gets its kind, field and index, and creates nothing.
func TestBadSpecs(t *testing.T) {
	h := newHouse(t, Options{Arms: 4})
	many := func(change func(*Spec)) Spec {
		s := online(3)
		change(&s)
		return s
	}
	pac := func(change func(*Spec)) Spec {
		return many(func(s *Spec) {
			s.Mode, s.Horizon, s.Epsilon, s.Delta = string(duel.PAC), nil, of(.1), of(.05)
			change(s)
		})
	}
	const bad = problem.InvalidValue
	for name, c := range map[string]struct {
		spec  Spec
		kind  problem.Kind
		field string
		index int
	}{
		"nothing":                  {Spec{}, bad, "arms", -1},
		"one arm":                  {online(1), bad, "arms", -1},
		"too many arms":            {online(5), problem.OverLimit, "arms", -1},
		"an arm without a name":    {many(func(s *Spec) { s.Arms[1] = "" }), bad, "arms", 1},
		"an arm with a long name":  {many(func(s *Spec) { s.Arms[2] = string(make([]byte, 257)) }), bad, "arms", 2},
		"an arm twice":             {many(func(s *Spec) { s.Arms[2] = s.Arms[0] }), bad, "arms", 2},
		"no mode":                  {many(func(s *Spec) { s.Mode = "" }), bad, "mode", -1},
		"another mode":             {many(func(s *Spec) { s.Mode = "offline" }), bad, "mode", -1},
		"no horizon":               {many(func(s *Spec) { s.Horizon = nil }), bad, "horizon", -1},
		"horizon of 0":             {many(func(s *Spec) { s.Horizon = of[int64](0) }), bad, "horizon", -1},
		"horizon below the arms":   {many(func(s *Spec) { s.Horizon = of[int64](2) }), bad, "horizon", -1},
		"horizon beyond 2^53":      {many(func(s *Spec) { s.Horizon = of[int64](1e16) }), bad, "horizon", -1},
		"horizon in pac":           {pac(func(s *Spec) { s.Horizon, s.Algorithm = of[int64](100), string(duel.Knockout) }), bad, "horizon", -1},
		"epsilon online":           {many(func(s *Spec) { s.Epsilon = of(.1) }), bad, "epsilon", -1},
		"delta online":             {many(func(s *Spec) { s.Delta = of(.1) }), bad, "delta", -1},
		"no epsilon":               {pac(func(s *Spec) { s.Epsilon, s.Algorithm = nil, string(duel.BeatTheMean) }), bad, "epsilon", -1},
		"epsilon of 0":             {pac(func(s *Spec) { s.Epsilon = of(0.) }), bad, "epsilon", -1},
		"epsilon of a half":        {pac(func(s *Spec) { s.Epsilon = of(.5) }), bad, "epsilon", -1},
		"no delta":                 {pac(func(s *Spec) { s.Delta = nil }), bad, "delta", -1},
		"delta of 0":               {pac(func(s *Spec) { s.Delta = of(0.) }), bad, "delta", -1},
		"delta of 1":               {pac(func(s *Spec) { s.Delta = of(1.) }), bad, "delta", -1},
		"gamma of 0":               {many(func(s *Spec) { s.Gamma = of(0.) }), bad, "gamma", -1},
		"gamma below 1":            {many(func(s *Spec) { s.Gamma = of(.99) }), bad, "gamma", -1},
		"gamma beyond all counts":  {pac(func(s *Spec) { s.Gamma, s.Algorithm = of(1e5), string(duel.BeatTheMean) }), bad, "gamma", -1},
		"gamma beyond all radii":   {many(func(s *Spec) { s.Gamma = of(1.1e6) }), bad, "gamma", -1},
		"gamma without a proof":    {many(func(s *Spec) { s.Gamma, s.Algorithm = of(1.5), string(duel.DoubleThompson) }), bad, "gamma", -1},
		"alpha of a half":          {many(func(s *Spec) { s.Alpha, s.Algorithm = of(.5), string(duel.DoubleThompson) }), bad, "alpha", -1},
		"alpha of another":         {many(func(s *Spec) { s.Alpha = of(.6) }), bad, "alpha", -1},
		"algorithm":                {many(func(s *Spec) { s.Algorithm = "elo" }), bad, "algorithm", -1},
		"algorithm of another":     {many(func(s *Spec) { s.Algorithm = string(duel.Knockout) }), bad, "algorithm", -1},
		"filter in pac":            {pac(func(s *Spec) { s.Algorithm = string(duel.InterleavedFilter2) }), bad, "algorithm", -1},
		"radius":                   {many(func(s *Spec) { s.Radius = "narrow" }), bad, "radius", -1},
		"delta below all capitals": {pac(func(s *Spec) { s.Algorithm, s.Delta = "", of(1e-101) }), bad, "delta", -1},
		"radius without a proof": {many(func(s *Spec) {
			s.Algorithm, s.Radius, s.Gamma = string(duel.BeatTheMean), string(duel.Tight), of(1.5)
		}), bad, "radius", -1},
		"radius where there is no": {pac(func(s *Spec) { s.Radius = string(duel.Wide) }), bad, "radius", -1},
		"an order online":          {many(func(s *Spec) { s.Algorithm = string(duel.Rank) }), bad, "mode", -1},
		"top of anytime":           {pac(func(s *Spec) { s.Top = of(1) }), bad, "top", -1},
		"top of copeland":          {pac(func(s *Spec) { s.Top, s.Algorithm = of(1), string(duel.Copeland) }), bad, "top", -1},
		"top of none":              {pac(func(s *Spec) { s.Top, s.Algorithm = of(0), string(duel.Rank) }), bad, "top", -1},
		"top of all":               {pac(func(s *Spec) { s.Top, s.Algorithm = of(3), string(duel.Rank) }), bad, "top", -1},
		"order by a radius":        {pac(func(s *Spec) { s.Radius, s.Algorithm = string(duel.Wide), string(duel.Rank) }), bad, "radius", -1},
		"testing":                  {many(func(s *Spec) { s.Testing = "lax" }), bad, "testing", -1},
		"no lease":                 {many(func(s *Spec) { s.LeaseSeconds = of(0.) }), bad, "lease_seconds", -1},
		"negative lease":           {many(func(s *Spec) { s.LeaseSeconds = of(-1.) }), bad, "lease_seconds", -1},
		"a lease of a year":        {many(func(s *Spec) { s.LeaseSeconds = of(365 * 86400.) }), bad, "lease_seconds", -1},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := h.Create(context.Background(), c.spec, "key "+name)
			refused(t, err, c.kind, c.field, c.index)
		})
	}
	if page, err := h.List("", 0); err != nil || len(page.Data) > 0 || h.Counts()["running"] != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}
