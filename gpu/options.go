package gpu

import "log/slog"

// Values of Options.Names.
const (
	OneDevice  = "one"
	AllDevices = "all"
)

// Options configure the backend; the zero value is the defaults.
type Options struct {
	// Devices are the indexes of the devices to use, in the list that func Devices returns; nil
	// means all usable ones. A device that is named must be usable. Several divide the atoms among them.
	Devices []int
	// Names says which devices to use if Devices does not: OneDevice, the first that can be used; AllDevices
	// that can be used, as ""; or a list of indexes and of UUIDs, or how they begin, separated by commas.
	Names string
	// Memory is the most bytes of each device to use; 0 means what is free when the backend opens,
	// less a reserve for the driver.
	Memory int64
	// Host is the most bytes of page-locked host memory to use for arrays that do not fit a device; 0
	// means as many as the system gives, a negative number none.
	Host int64
	// Log receives a line for each device that is opened and for each collection that is loaded,
	// which says whether its rows and codes are in device or in host memory; nil discards them.
	Log *slog.Logger
}
