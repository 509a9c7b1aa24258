package gpu

import "log/slog"

// Options configure the backend; the zero value is the defaults.
type Options struct {
	// Devices are the indexes of the devices to use, as listed by Devices; nil is all usable ones.
	// Several devices divide the atoms among them.
	Devices []int
	// Memory is how many bytes of each device may be used; 0 is what is free when the backend opens,
	// less a reserve for the driver.
	Memory int64
	// Host is how many bytes of page-locked host memory may hold what does not fit a device; 0 is as
	// many as the system gives, negative is none.
	Host int64
	// Log receives what is placed where and what fell back; nil discards it.
	Log *slog.Logger
}
