package machine

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

const gib = 1 << 30

// on makes a folder with files, as the machine's root.
func on(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// meminfo is a machine of 16 GiB, of which 12 are available.
const meminfo = "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:   12582912 kB\n"

const (
	mounted2 = "25 30 0:22 / /proc rw,nosuid - proc proc rw\n" +
		"35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
	mounted1 = "36 35 0:31 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:10 - cgroup cgroup rw,cpu,cpuacct\n" +
		"41 35 0:36 / /sys/fs/cgroup/memory rw,relatime shared:15 - cgroup cgroup rw,memory\n"
)

// TestMemory: the least limit on the way from the process's own group to the root counts, in
// either version of control groups, and never more than the machine has.
func TestMemory(t *testing.T) {
	for name, x := range map[string]struct {
		files   map[string]string
		limit   int64
		of      string
		free    int64
		unknown bool
	}{
		"nothing is known": {files: map[string]string{}, unknown: true},
		"no groups":        {files: map[string]string{}, limit: 16 * gib, of: Whole, free: 12 * gib},
		"version 2, a container of its own namespace": {files: map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.high": "max\n",
			"sys/fs/cgroup/memory.stat": "anon 268435456\nfile 700000000\n",
		}, limit: gib, of: "/sys/fs/cgroup/memory.max", free: 3 * gib / 4},
		"version 2, nested, a group above is the least": {files: map[string]string{
			"proc/self/cgroup": "0::/system.slice/thresher.service/worker\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/system.slice/thresher.service/worker/memory.max":  "8589934592\n",
			"sys/fs/cgroup/system.slice/thresher.service/worker/memory.stat": "anon 0\n",
			"sys/fs/cgroup/system.slice/thresher.service/memory.max":         "2147483648\n",
			"sys/fs/cgroup/system.slice/thresher.service/memory.stat":        "anon 1073741824\n",
			"sys/fs/cgroup/system.slice/memory.max":                          "max\n",
			"sys/fs/cgroup/system.slice/memory.stat":                         "anon 9000000000\n",
		}, limit: 2 * gib, of: "/sys/fs/cgroup/system.slice/thresher.service/memory.max", free: gib},
		"version 2, what is free is least in another group than the limit": {files: map[string]string{
			"proc/self/cgroup": "0::/pod/box\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/pod/box/memory.max": "2147483648\n", "sys/fs/cgroup/pod/box/memory.stat": "anon 0\n",
			"sys/fs/cgroup/pod/memory.max": "4294967296\n", "sys/fs/cgroup/pod/memory.stat": "anon 3221225472\n",
		}, limit: 2 * gib, of: "/sys/fs/cgroup/pod/box/memory.max", free: gib},
		"version 2, taken more than allowed": {files: map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.stat": "anon 2000000000\n",
		}, limit: gib, of: "/sys/fs/cgroup/memory.max", free: 0},
		"version 2, throttled from memory.high on": {files: map[string]string{
			"proc/self/cgroup": "0::/box\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/box/memory.max": "4294967296\n", "sys/fs/cgroup/box/memory.high": "3221225472\n", "sys/fs/cgroup/box/memory.stat": "anon 0\n",
		}, limit: 3 * gib, of: "/sys/fs/cgroup/box/memory.high", free: 3 * gib},
		"version 2, without limits": {files: map[string]string{
			"proc/self/cgroup": "0::/user.slice\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/user.slice/memory.max": "max\n", "sys/fs/cgroup/user.slice/memory.stat": "anon 5\n",
		}, limit: 16 * gib, of: Whole, free: 12 * gib},
		"version 2, more than the machine has": {files: map[string]string{
			"proc/self/cgroup": "0::/\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/memory.max": "1099511627776\n", "sys/fs/cgroup/memory.stat": "anon 0\n",
		}, limit: 16 * gib, of: Whole, free: 12 * gib},
		"version 2, the group lies outside of the namespace": {files: map[string]string{
			"proc/self/cgroup": "0::/../other\n", "proc/self/mountinfo": mounted2,
			"sys/fs/cgroup/memory.max": "1073741824\n", "sys/fs/cgroup/memory.stat": "anon 0\n", "sys/fs/other/memory.max": "1\n",
		}, limit: gib, of: "/sys/fs/cgroup/memory.max", free: gib},
		"version 2, mounted where a path has a space": {files: map[string]string{
			"proc/self/cgroup":         "0::/a:b\n",
			"proc/self/mountinfo":      "35 24 0:30 / /my\\040groups rw - cgroup2 none rw\n",
			"my groups/a:b/memory.max": "1073741824\n", "my groups/a:b/memory.stat": "anon 0\n",
		}, limit: gib, of: "/my groups/a:b/memory.max", free: gib},
		"version 1, nested": {files: map[string]string{
			"proc/self/cgroup":    "12:pids:/x\n9:cpu,cpuacct:/y\n4:memory:/pods/pod1/box\n1:name=systemd:/z\n",
			"proc/self/mountinfo": mounted1,
			"sys/fs/cgroup/memory/pods/pod1/box/memory.limit_in_bytes": "9223372036854771712\n",
			"sys/fs/cgroup/memory/pods/pod1/memory.limit_in_bytes":     "3221225472\n",
			"sys/fs/cgroup/memory/pods/pod1/memory.stat":               "rss 1\ntotal_rss 1073741824\n",
			"sys/fs/cgroup/memory/pods/memory.limit_in_bytes":          "9223372036854771712\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":               "9223372036854771712\n",
		}, limit: 3 * gib, of: "/sys/fs/cgroup/memory/pods/pod1/memory.limit_in_bytes", free: 2 * gib},
		"version 1, a container that sees its own group alone": {files: map[string]string{
			"proc/self/cgroup":                           "4:memory:/docker/0123\n0::/system.slice/containerd.service\n",
			"proc/self/mountinfo":                        "41 35 0:36 /docker/0123 /sys/fs/cgroup/memory ro,relatime - cgroup cgroup rw,memory\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n", "sys/fs/cgroup/memory/memory.stat": "total_rss 0\n",
		}, limit: gib, of: "/sys/fs/cgroup/memory/memory.limit_in_bytes", free: gib},
		"both versions, memory in the first": {files: map[string]string{
			"proc/self/cgroup":                               "4:memory:/box\n0::/box\n",
			"proc/self/mountinfo":                            mounted1 + "42 35 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
			"sys/fs/cgroup/memory/box/memory.limit_in_bytes": "1073741824\n", "sys/fs/cgroup/memory/box/memory.stat": "total_rss 0\n",
			"sys/fs/cgroup/unified/box/cgroup.procs": "1\n",
		}, limit: gib, of: "/sys/fs/cgroup/memory/box/memory.limit_in_bytes", free: gib},
		"lines that mean nothing": {files: map[string]string{
			"proc/self/cgroup": "\n0::\nrubbish\n4:memory\n", "proc/self/mountinfo": "rubbish\n1 2 3 - cgroup2\n" + mounted2,
			"sys/fs/cgroup/memory.max": "many\n", "sys/fs/cgroup/memory.stat": "anon\n",
		}, limit: 16 * gib, of: Whole, free: 12 * gib},
	} {
		t.Run(name, func(t *testing.T) {
			if !x.unknown {
				x.files["proc/meminfo"] = meminfo
			}
			root := os.DirFS(on(t, x.files))
			limit, ok := Limit(root)
			if want := (Allowance{x.limit, x.of}); limit != want || ok == x.unknown {
				t.Errorf("the limit is %+v, %v; want %+v", limit, ok, want)
			}
			if free, ok := Free(root); free != x.free || ok == x.unknown {
				t.Errorf("%d are free, %v; want %d", free, ok, x.free)
			}
		})
	}
}

// TestThisMachine: on Linux the memory of the machine that runs the test is known.
func TestThisMachine(t *testing.T) {
	if runtime.GOOS != "linux" {
		if _, err := os.Stat("/proc/meminfo"); err == nil {
			t.Error("there is /proc/meminfo on a system other than Linux")
		}
		return
	}
	limit, ok := Limit(os.DirFS("/"))
	free, known := Free(os.DirFS("/"))
	if !ok || !known || limit.Bytes < 1<<20 || free > limit.Bytes {
		t.Errorf("%+v, of which %d are free", limit, free)
	}
}
