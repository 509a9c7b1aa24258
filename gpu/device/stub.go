//go:build !(cuda && cgo)

package device

// Driver returns why no device can be used: this build lacks CUDA, and cannot know whether there is a
// device. The error wraps ErrAbsent.
func Driver() error {
	return unavailable(ErrAbsent, "this binary was built without CUDA (go build -tags cuda, with cgo)")
}

// Devices returns Driver's error: this build lacks CUDA.
func Devices() ([]Info, error) { return nil, Driver() }

// DriverVersion returns Driver's error.
func DriverVersion() (string, error) { return "", Driver() }
