package files

import (
	"testing"

	"go.uber.org/goleak"

	"thresher/internal/crashtest"
)

func TestMain(m *testing.M) {
	crashtest.Main(childhood)
	goleak.VerifyTestMain(m)
}
