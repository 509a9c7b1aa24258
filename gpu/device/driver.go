//go:build cuda && cgo

package device

import (
	"fmt"
	"os"
	"strings"
	"sync"

	"gorgonia.org/cu"
)

// The kernels' PTX determines the least driver: PTX 8.0 came with CUDA 12.0, and driver branch
// 525 is the first to support it.
const (
	ptxMajor, ptxMinor = 8, 0
	minCUDA            = 12000
	minBranch          = 525
)

// libraryVariable names a driver library to use instead of the system's.
const libraryVariable = "THRESHER_LIBCUDA"

// libraryPlaces is where a driver is searched for, in order: the loader's path first, then where
// containers, WSL and distributions put it.
var libraryPlaces = [...]string{
	"libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/local/nvidia/lib/libcuda.so.1",
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
}

// A process has one driver, which is searched for once, on first use.
var openDriver = sync.OnceValues(findDriver)

// Driver returns nil if this process can use a CUDA driver, otherwise an error that wraps
// ErrUnavailable. The first call opens and initialises the driver, which can take a
// tenth of a second or more.
func Driver() error {
	_, err := openDriver()
	return err
}

// DriverVersion returns the newest CUDA version the driver supports, and the driver branch that
// came with it, as "CUDA 12.4 (driver 550)".
func DriverVersion() (string, error) {
	v, err := openDriver()
	if err != nil {
		return "", err
	}
	return v.String(), nil
}

// cudaVersion is 1000 times the major plus 10 times the minor version.
type cudaVersion int

func (v cudaVersion) String() string {
	return fmt.Sprintf("CUDA %d.%d (driver %s)", v/1000, v%1000/10, v.branch())
}

// branch returns the first driver branch that supports v; later branches of the same CUDA
// version are not distinguished.
func (v cudaVersion) branch() string {
	branches := [...]struct {
		cuda   cudaVersion
		driver string
	}{
		{13000, "580"}, {12090, "575"}, {12080, "570"}, {12070, "565"}, {12060, "560"}, {12050, "555"},
		{12040, "550"}, {12030, "545"}, {12020, "535"}, {12010, "530"}, {12000, "525"}, {11080, "520"},
		{11070, "515"}, {11060, "510"}, {11050, "495"}, {11040, "470"}, {11030, "465"}, {11020, "460"}, {11010, "455"},
		{11000, "450"}, {10020, "440"}, {10010, "418"}, {10000, "410"},
	}
	for _, b := range branches {
		if v == b.cuda {
			return b.driver
		}
		if v > b.cuda {
			return b.driver + " or newer"
		}
	}
	return "older than 410"
}

// findDriver opens the first library that initializes and is new enough.
func findDriver() (cudaVersion, error) {
	if path := os.Getenv(libraryVariable); path != "" {
		code, err := openLibrary(path)
		switch {
		case err != nil:
			return 0, unavailable(missingKind(path, err), "%s: %v", libraryVariable, err)
		case code != 0:
			return 0, unavailable(initKind(code), "%s=%s: %v", libraryVariable, path, initError(code))
		}
		return checkVersion()
	}
	var first error
	for _, path := range libraryPlaces {
		code, err := openLibrary(path)
		switch {
		case err == nil && code == 0:
			return checkVersion()
		case err == nil && first == nil:
			first = unavailable(initKind(code), "%s: %v", path, initError(code))
		case err != nil && first == nil && missingKind(path, err) != ErrAbsent:
			first = unavailable(ErrUnavailable, "no CUDA driver: %v", err)
		}
	}
	if first == nil {
		first = unavailable(ErrAbsent, "no CUDA driver: libcuda.so.1 not found by the loader, nor in /usr/local/nvidia; %s can name it", libraryVariable)
	}
	return 0, first
}

// initError describes cuInit's code.
func initError(code int) error {
	return &DriverError{Call: "cuInit()", Code: code}
}

// initKind returns what cuInit's code says of devices: without one, a driver has nothing to do, and the
// library that compilers bring is no driver.
func initKind(code int) error {
	if code == codeNoDevice || code == codeStubLibrary {
		return ErrAbsent
	}
	return ErrUnavailable
}

// missingKind returns ErrAbsent if the loader did not find the library at path, and ErrUnavailable if it cannot
// load it. The loader has no codes, only texts: of a file that the library needs, it begins with that
// file's name.
func missingKind(path string, err error) error {
	if text := err.Error(); strings.HasPrefix(text, path+":") && strings.Contains(text, "No such file") {
		return ErrAbsent
	}
	return ErrUnavailable
}

// checkVersion rejects drivers that do not support the kernels' PTX.
func checkVersion() (cudaVersion, error) {
	n := cu.Version()
	if n < 0 {
		return 0, unavailable(ErrUnavailable, "cuDriverGetVersion failed")
	}
	v := cudaVersion(n)
	if v < minCUDA {
		kind := ErrOldDriver
		if n, err := countDevices(); err == nil && n == 0 {
			kind = ErrAbsent
		}
		return 0, unavailable(kind, "driver %s is too old: PTX %d.%d needs %d (CUDA %d.%d; this one has %d.%d)",
			v.branch(), ptxMajor, ptxMinor, minBranch, minCUDA/1000, minCUDA%1000/10, v/1000, v%1000/10)
	}
	return v, nil
}
