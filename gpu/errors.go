package gpu

import (
	"errors"
	"strings"

	"thresher/backend"
	"thresher/gpu/device"
)

// contractErrors are the errors of devices, each with what the contract of backends calls it.
var contractErrors = [...]struct{ device, contract error }{
	{device.ErrUnavailable, backend.ErrUnavailable},
	{device.ErrMemory, backend.ErrMemory},
	{device.ErrClosed, backend.ErrClosed},
}

// contractError is an error of a device that is also one of the contract's, with its own text.
type contractError struct {
	error
	is []error
}

// Unwrap returns the device's error and the contract's.
func (e *contractError) Unwrap() []error { return append([]error{e.error}, e.is...) }

// inContract returns err such that errors.Is finds what the contract calls it. Everything that this
// package returns of a device passes through it.
func inContract(err error) error {
	var is []error
	for _, e := range contractErrors {
		if errors.Is(err, e.device) && !errors.Is(err, e.contract) {
			is = append(is, e.contract)
		}
	}
	if len(is) == 0 {
		return err
	}
	return &contractError{err, is}
}

// unavailable returns err such that it is backend.ErrUnavailable: without a device, whatever the reason.
func unavailable(err error) error {
	if err = inContract(err); errors.Is(err, backend.ErrUnavailable) {
		return err
	}
	return &contractError{err, []error{backend.ErrUnavailable}}
}

// unusable are the reasons why each of some devices is not used.
type unusable []error

func (u unusable) Error() string {
	texts := make([]string, len(u))
	for i, err := range u {
		texts[i] = err.Error()
	}
	return strings.Join(texts, "; ")
}

func (u unusable) Unwrap() []error { return u }

// LeftOut returns why devices beside those of a backend that Open returned cannot be used, or could not
// hold their part of a collection; nil if there is none.
func LeftOut(b backend.Backend) error {
	if b, ok := b.(interface{ leftOut() error }); ok {
		return b.leftOut()
	}
	return nil
}

// Reasons says of each device that err is about, in a sentence, why it is not used and what to do about it: for
// people who have a GPU and want it used. If there is none (device.ErrAbsent), as far as this build can know,
// nothing is to be said.
func Reasons(err error) []string {
	var each unusable
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &each):
		each = unusable{err}
	}
	var sentences []string
	for _, err := range each {
		if !errors.Is(err, device.ErrAbsent) {
			sentences = append(sentences, plain(err)+"; "+advice(err))
		}
	}
	return sentences
}

// plain returns the first line of an error's text, without what it says of all devices; further lines are of what
// failed in its wake.
func plain(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = strings.TrimPrefix(strings.ReplaceAll(text, ": gpu: ", ": "), "gpu: ")
	return strings.TrimPrefix(text, device.ErrUnavailable.Error()+": ")
}

// advice says what can be done about an error.
func advice(err error) string {
	for _, a := range [...]struct {
		is   error
		text string
	}{
		// a busy device's error is also that of a lost one, whose code it has
		{device.ErrBusy, "end the process that has it for itself, or let several use it (nvidia-smi -c DEFAULT)"},
		{device.ErrOldDriver, "install a newer NVIDIA driver"},
		{device.ErrOldDevice, "a newer GPU is needed"},
		{device.ErrMemory, "free memory on the GPU: nvidia-smi lists the processes that hold it"},
		{backend.ErrMemory, "free memory on the GPU: nvidia-smi lists the processes that hold it"},
		{device.ErrLost, "start again; if it is repeated, nvidia-smi and the system's log (Xid) say whether the GPU is faulty"},
		{device.ErrKernels, "install a newer NVIDIA driver"},
	} {
		if errors.Is(err, a.is) {
			return a.text
		}
	}
	return "nvidia-smi says whether driver and GPU work"
}
