//go:build cuda && cgo

package gpu

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"thresher/gpu/device"
)

// choice is which devices are opened.
type choice struct {
	which []int // in the order in which they are tried
	most  int   // to open
	named bool  // each of which must be usable
}

// choose returns the devices that o names, or all.
func (o *Options) choose() (choice, error) {
	if len(o.Devices) > 0 {
		return choice{o.Devices, len(o.Devices), true}, nil
	}
	infos, err := device.Devices()
	if err != nil {
		return choice{}, err
	}
	if o.Names != "" && o.Names != AllDevices && o.Names != OneDevice {
		return named(infos, o.Names)
	}
	c := choice{most: len(infos)}
	for _, i := range infos {
		c.which = append(c.which, i.Index)
	}
	if o.Names == OneDevice {
		c.most = 1
	}
	return c, nil
}

// named returns the devices of a list of indexes and UUIDs.
func named(infos []device.Info, names string) (choice, error) {
	c := choice{named: true}
	for name := range strings.SplitSeq(names, ",") {
		var found []int
		for _, i := range infos {
			if name == strconv.Itoa(i.Index) || len(name) > len("GPU-") && strings.HasPrefix(strings.ToLower(i.UUID), strings.ToLower(name)) {
				found = append(found, i.Index)
			}
		}
		switch {
		case len(found) != 1:
			return c, fmt.Errorf("gpu: %w: %d of the %d devices are called %s", device.ErrUnavailable, len(found), len(infos), name)
		case slices.Contains(c.which, found[0]):
			return c, fmt.Errorf("gpu: %w: device %d is named twice", device.ErrUnavailable, found[0])
		}
		c.which = append(c.which, found[0])
	}
	c.most = len(c.which)
	return c, nil
}
