package gpu

import "log/slog"

// Options of the backend; the zero value is good.
type Options struct {
	// Devices are the indexes of the devices to use, as Devices lists them; nil
	// means all that can be used. Several share the atoms between them.
	Devices []int
	// Memory is how many bytes of each device may be used; 0 means what is free
	// when the backend opens, less a reserve for the driver.
	Memory int64
	// Host is how many bytes of page-locked host memory may hold what does not
	// fit a device; 0 means as many as the system gives, negative none.
	Host int64
	// Log is told what lies where and what fell back; nil means nobody.
	Log *slog.Logger
}
