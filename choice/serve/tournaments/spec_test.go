package tournaments

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"thresher/choice/duel"
	"thresher/service/problem"
)

// TestBadSpecs: each invalid spec gets its kind, field and index, and a detail that names the field; none
// creates anything.
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
		"nothing":                   {Spec{}, bad, "arms", -1},
		"one arm":                   {online(1), bad, "arms", -1},
		"too many arms":             {online(5), problem.OverLimit, "arms", -1},
		"an arm without a name":     {many(func(s *Spec) { s.Arms[1] = "" }), bad, "arms", 1},
		"an arm with a long name":   {many(func(s *Spec) { s.Arms[2] = string(make([]byte, 257)) }), bad, "arms", 2},
		"an arm twice":              {many(func(s *Spec) { s.Arms[2] = s.Arms[0] }), bad, "arms", 2},
		"an arm of white space":     {many(func(s *Spec) { s.Arms[1] = " \t\u00a0\u2028" }), bad, "arms", 1},
		"an arm that shows nothing": {many(func(s *Spec) { s.Arms[1] = "\u200b\ufeff" }), bad, "arms", 1},
		"arms that look alike":      {many(func(s *Spec) { s.Arms[2] = "\u200e" + s.Arms[0] + " \n" }), bad, "arms", 2},
		"no mode":                   {many(func(s *Spec) { s.Mode = "" }), bad, "mode", -1},
		"another mode":              {many(func(s *Spec) { s.Mode = "offline" }), bad, "mode", -1},
		"no horizon":                {many(func(s *Spec) { s.Horizon = nil }), bad, "horizon", -1},
		"horizon of 0":              {many(func(s *Spec) { s.Horizon = of[int64](0) }), bad, "horizon", -1},
		"horizon below the arms":    {many(func(s *Spec) { s.Horizon = of[int64](2) }), bad, "horizon", -1},
		"horizon beyond 2^53":       {many(func(s *Spec) { s.Horizon = of[int64](1e16) }), bad, "horizon", -1},
		"horizon in pac":            {pac(func(s *Spec) { s.Horizon, s.Algorithm = of[int64](100), string(duel.Knockout) }), bad, "horizon", -1},
		"epsilon online":            {many(func(s *Spec) { s.Epsilon = of(.1) }), bad, "epsilon", -1},
		"delta online":              {many(func(s *Spec) { s.Delta = of(.1) }), bad, "delta", -1},
		"no epsilon":                {pac(func(s *Spec) { s.Epsilon, s.Algorithm = nil, string(duel.BeatTheMean) }), bad, "epsilon", -1},
		"epsilon of 0":              {pac(func(s *Spec) { s.Epsilon = of(0.) }), bad, "epsilon", -1},
		"epsilon of a half":         {pac(func(s *Spec) { s.Epsilon = of(.5) }), bad, "epsilon", -1},
		"no delta":                  {pac(func(s *Spec) { s.Delta = nil }), bad, "delta", -1},
		"delta of 0":                {pac(func(s *Spec) { s.Delta = of(0.) }), bad, "delta", -1},
		"delta of 1":                {pac(func(s *Spec) { s.Delta = of(1.) }), bad, "delta", -1},
		"gamma of 0":                {many(func(s *Spec) { s.Gamma = of(0.) }), bad, "gamma", -1},
		"gamma below 1":             {many(func(s *Spec) { s.Gamma = of(.99) }), bad, "gamma", -1},
		"gamma beyond all counts":   {pac(func(s *Spec) { s.Gamma, s.Algorithm = of(1e5), string(duel.BeatTheMean) }), bad, "gamma", -1},
		"gamma beyond all radii":    {many(func(s *Spec) { s.Gamma = of(1.1e6) }), bad, "gamma", -1},
		"gamma without a proof":     {many(func(s *Spec) { s.Gamma, s.Algorithm = of(1.5), string(duel.DoubleThompson) }), bad, "gamma", -1},
		"alpha of a half":           {many(func(s *Spec) { s.Alpha, s.Algorithm = of(.5), string(duel.DoubleThompson) }), bad, "alpha", -1},
		"alpha of another":          {many(func(s *Spec) { s.Alpha = of(.6) }), bad, "alpha", -1},
		"algorithm":                 {many(func(s *Spec) { s.Algorithm = "elo" }), bad, "algorithm", -1},
		"algorithm without epsilon": {pac(func(s *Spec) { s.Algorithm, s.Epsilon = "elo", nil }), bad, "algorithm", -1},
		"algorithm of another":      {many(func(s *Spec) { s.Algorithm = string(duel.Knockout) }), bad, "algorithm", -1},
		"filter in pac":             {pac(func(s *Spec) { s.Algorithm = string(duel.InterleavedFilter2) }), bad, "algorithm", -1},
		"radius":                    {many(func(s *Spec) { s.Radius = "narrow" }), bad, "radius", -1},
		"delta below all capitals":  {pac(func(s *Spec) { s.Algorithm, s.Delta = "", of(1e-101) }), bad, "delta", -1},
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
			if p := problem.Of(err); !strings.Contains(p.Detail, c.field) || strings.Contains(p.Detail, "duel: ") {
				t.Errorf("%s", p.Detail)
			}
		})
	}
	if page, err := h.List("", 0); err != nil || len(page.Data) > 0 || h.Counts()["running"] != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestWhatIsWrongIsSaid: details name the value and what is allowed, the limit what is allowed.
func TestWhatIsWrongIsSaid(t *testing.T) {
	good := func() Spec { return Spec{Arms: arms(3), Mode: string(duel.PAC), Delta: of(.1)} }
	for name, c := range map[string]struct {
		change        func(*Spec)
		detail, limit string
	}{
		"one arm":         {func(s *Spec) { s.Arms = arms(1) }, "the length of arms is 1, not 2 to 9", "[2 9]"},
		"many arms":       {func(s *Spec) { s.Arms = arms(10) }, "the length of arms is 10, not 2 to 9", "9"},
		"a long name":     {func(s *Spec) { s.Arms[1] = strings.Repeat("é", 257) }, "arms[1] has 257 characters, not 1 to 256", "[1 256]"},
		"white space":     {func(s *Spec) { s.Arms[1] = " " }, `arms[1] is " ", white space alone; at least one character must be visible`, "a visible character"},
		"a name twice":    {func(s *Spec) { s.Arms[2] = "arm 0 " }, `arms[2] is "arm 0 " and looks like arms[0], "arm 0"; names must differ, not only by white space at their ends`, "names that differ"},
		"mode":            {func(s *Spec) { s.Mode = "offline" }, `mode "offline" is none of online, pac`, "[online pac]"},
		"algorithm":       {func(s *Spec) { s.Algorithm = "elo" }, `algorithm "elo" is none of anytime, beat-the-mean, interleaved-filter-1, interleaved-filter-2, double-thompson, knockout, rank, copeland`, "[anytime beat-the-mean interleaved-filter-1 interleaved-filter-2 double-thompson knockout rank copeland]"},
		"no epsilon":      {func(s *Spec) { s.Algorithm = "knockout" }, "epsilon is missing, which mode pac by knockout needs: a number in (0, 1/2)", "(0, 1/2)"},
		"no delta":        {func(s *Spec) { s.Delta = nil }, "delta is missing, which mode pac needs: a number in (0, 1)", "(0, 1)"},
		"no horizon":      {func(s *Spec) { s.Mode, s.Delta = "online", nil }, "horizon is missing, which mode online needs: a number in [3, 2^53]", "[3, 2^53]"},
		"delta":           {func(s *Spec) { s.Delta = of(2.) }, "delta is 2, not in (0, 1)", "(0, 1)"},
		"lease_seconds":   {func(s *Spec) { s.LeaseSeconds = of(0.) }, "lease_seconds is 0, not in [0.001, 2592000]", "[0.001, 2592000]"},
		"horizon":         {func(s *Spec) { s.Horizon = of[int64](2) }, "horizon is 2, not in [3, 2^53]", "[3, 2^53]"},
		"top":             {func(s *Spec) { s.Algorithm, s.Top = "rank", of(3) }, "top is 3, not in [1, 2]: fewer than the arms", "[1 2]"},
		"top of another":  {func(s *Spec) { s.Top = of(1) }, "top belongs to algorithm rank, not to anytime", "<nil>"},
		"a tiny delta":    {func(s *Spec) { s.Delta = of(1e-101) }, "delta 1e-101 is not in [1e-100, 1), as anytime needs it", "<nil>"},
		"another's mode":  {func(s *Spec) { s.Algorithm, s.Epsilon = "interleaved-filter-1", of(.1) }, "algorithm: interleaved-filter-1 is for online, not for pac", "<nil>"},
		"a radius of two": {func(s *Spec) { s.Radius = "narrow" }, `radius "narrow" is none of tight, wide`, "[tight wide]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := good()
			c.change(&s)
			_, err := checkSpec(&s, 9)
			if err == nil {
				t.Fatal("no error")
			}
			if p := problem.Of(err); p.Detail != c.detail || fmt.Sprint(p.Limit) != c.limit {
				t.Errorf("%s\nlimit %v", p.Detail, p.Limit)
			}
		})
	}
}

// TestArmsThatShow: what differs on the screen is accepted, also inside and in flags, which differ by
// characters that join others.
func TestArmsThatShow(t *testing.T) {
	s := Spec{Arms: []string{"a b", "a  b", "A b", "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"}, Mode: string(duel.PAC), Delta: of(.1)}
	if _, err := checkSpec(&s, 9); err != nil {
		t.Error(err)
	}
}

// TestAssumes: a tournament says what its guarantee assumes, which is nothing of two arms.
func TestAssumes(t *testing.T) {
	h := newHouse(t, Options{})
	for _, c := range []struct {
		algorithm duel.Algorithm
		arms      int
		want      string
	}{
		{"", 3, "some arm is unbeaten"},
		{"", 2, ""},
		{duel.Rank, 3, "an order in which no arm is beaten by a later one"},
		{duel.Copeland, 3, ""},
	} {
		made := h.get(h.create(Spec{Arms: arms(c.arms), Mode: string(duel.PAC), Algorithm: string(c.algorithm), Delta: of(.1)}))
		if made.Assumes != c.want {
			t.Errorf("%s of %d arms assumes %q, want %q", made.Algorithm, c.arms, made.Assumes, c.want)
		}
	}
}
