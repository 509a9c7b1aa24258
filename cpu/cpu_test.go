package cpu_test

import (
	"testing"

	"go.uber.org/goleak"

	"thresher/backend"
	"thresher/backend/backendtest"
	"thresher/cpu"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformance(t *testing.T) {
	backendtest.Run(t, func() backend.Backend { return cpu.New(cpu.Options{Threads: 2}) })
}
