package machine

import (
	"io/fs"
	"strconv"
	"strings"
)

// Allowance is an amount of memory and what it is of.
type Allowance struct {
	Bytes int64
	// Of is Whole, or the path of the file by which a control group limits it.
	Of string
}

// Whole is the Of of all memory that the machine has.
const Whole = "the machine"

// Limit returns the memory that this process may use: the least that a control group it is in
// allows, or all of the machine if that is less. ok is false if neither is known.
func Limit(root fs.FS) (least Allowance, ok bool) {
	if kib, known := field(root, "proc/meminfo", "MemTotal:"); known {
		least, ok = Allowance{kib << 10, Whole}, true
	}
	for _, g := range groups(root) {
		if m, limited := g.limit(root); limited && (!ok || m.Bytes < least.Bytes) {
			least, ok = m, true
		}
	}
	return least, ok
}

// Free returns how many more bytes this process could take: the least of what is available on
// the machine, and of what each control group that it is in allows and has not taken. The
// caches of files that a group has read count as free. ok is false if nothing is known.
func Free(root fs.FS) (least int64, ok bool) {
	if kib, known := field(root, "proc/meminfo", "MemAvailable:"); known {
		least, ok = kib<<10, true
	}
	for _, g := range groups(root) {
		m, limited := g.limit(root)
		if !limited {
			continue
		}
		if taken, known := g.taken(root); known && (!ok || m.Bytes-taken < least) {
			least, ok = m.Bytes-taken, true
		}
	}
	return max(least, 0), ok
}

// field reads the number after a name at the beginning of a line.
func field(root fs.FS, path, name string) (int64, bool) {
	text, err := fs.ReadFile(root, path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 && words[0] == name {
			n, err := strconv.ParseInt(words[1], 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
