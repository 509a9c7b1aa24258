package device

import (
	"fmt"
	"math"
)

// Info describes a device.
type Info struct {
	Index           int    // as Open takes it; CUDA_VISIBLE_DEVICES renumbers
	Name            string // as the driver calls it
	PCI             string // domain:bus:device in hexadecimal
	UUID            string // as nvidia-smi writes it: GPU- and 32 hexadecimal digits in groups
	Major, Minor    int    // compute capability
	Memory          int64  // bytes on the device, in use or not
	Multiprocessors int
	L2              int  // bytes of second-level cache
	SharedPerBlock  int  // most bytes of shared memory of a block whose function allows it
	SharedPerSM     int  // bytes of shared memory of a multiprocessor
	ThreadsPerSM    int  // most threads resident on a multiprocessor
	WarpSize        int  // 32 on every device so far
	ECC             bool // memory errors are corrected
}

// String returns one line that identifies the device.
func (i Info) String() string {
	return fmt.Sprintf("device %d: %s, compute capability %d.%d, %s, %d multiprocessors",
		i.Index, i.Name, i.Major, i.Minor, FormatBytes(i.Memory), i.Multiprocessors)
}

// FormatBytes formats a byte count to three figures.
func FormatBytes(n int64) string {
	if n < 1<<10 && n > -1<<10 {
		return fmt.Sprintf("%d B", n)
	}
	v, unit := float64(n)/(1<<10), "KiB"
	for _, next := range [...]string{"MiB", "GiB", "TiB", "PiB", "EiB"} {
		if math.Abs(v) < 999.5 {
			break
		}
		v, unit = v/(1<<10), next
	}
	return fmt.Sprintf("%.3g %s", v, unit)
}

// The least compute capability: the kernels are compiled for 8.0, whose cp.async and mma shapes
// they use.
const minMajor, minMinor = 8, 0

// Usable returns nil if the kernels can run on a device of this description, which may be full or busy
// all the same, otherwise an error that wraps ErrOldDevice.
func (i Info) Usable() error {
	if i.Major < minMajor || i.Major == minMajor && i.Minor < minMinor {
		return unavailable(ErrOldDevice, "device %d (%s): compute capability %d.%d is below %d.%d", i.Index, i.Name, i.Major, i.Minor, minMajor, minMinor)
	}
	return nil
}
