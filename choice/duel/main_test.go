package duel

import (
	"testing"

	"go.uber.org/goleak"

	_ "thresher/internal/draws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
