package files

import (
	"testing"

	"go.uber.org/goleak"

	"thresher/service/mortal"
)

func TestMain(m *testing.M) {
	mortal.Main(childhood)
	goleak.VerifyTestMain(m)
}
