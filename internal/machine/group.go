package machine

import (
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
)

// group is a control group that limits memory.
type group struct {
	dir string // its folder, relative to the root
	controls
}

// controls are the files of a version of control groups: the names of those that say what a group may have
// and has. cgroups(7) describes both.
type controls struct {
	limits []string // of files that hold a number of bytes, or "max"
	taken  string   // the line of memory.stat that counts memory other than caches of files
}

func version2() controls { return controls{[]string{"memory.max", "memory.high"}, "anon"} }
func version1() controls { return controls{[]string{"memory.limit_in_bytes"}, "total_rss"} }

// unlimited is the least value that means no limit: version 1 states the greatest number of
// pages that the kernel counts.
const unlimited = 1 << 62

// limit returns the least that the group's files allow.
func (g group) limit(root fs.FS) (least Allowance, ok bool) {
	for _, name := range g.limits {
		file := path.Join(g.dir, name)
		text, err := fs.ReadFile(root, file)
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
		if err == nil && n < unlimited && (!ok || n < least.Bytes) { // "max" is no number
			least, ok = Allowance{n, "/" + file}, true
		}
	}
	return least, ok
}

// taken returns the memory of the group, and of those below it, other than caches of files.
func (g group) taken(root fs.FS) (int64, bool) {
	return field(root, path.Join(g.dir, "memory.stat"), g.controls.taken)
}

// groups returns the groups that the process is in and that may limit its memory: in each
// hierarchy its own group and all above it, as far as they can be seen.
func groups(root fs.FS) []group {
	var all []group
	mounts := mounts(root)
	for _, m := range memberships(root) {
		i := slices.IndexFunc(mounts, func(x mount) bool { return x.v2 == m.v2 })
		if i < 0 {
			continue
		}
		k := version1()
		if m.v2 {
			k = version2()
		}
		for rel := mounts[i].relative(m.path); ; rel = path.Dir(rel) {
			all = append(all, group{path.Join(mounts[i].at, rel), k})
			if rel == "." {
				break
			}
		}
	}
	return all
}

// membership is the group of the process in one hierarchy, as the kernel names it.
type membership struct {
	path string
	v2   bool
}

// memberships reads /proc/self/cgroup: lines of a number, controllers and a path, with colons
// between them. Version 2 has no list of controllers.
func memberships(root fs.FS) []membership {
	text, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return nil
	}
	var all []membership
	for line := range strings.Lines(string(text)) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) != 3 {
			continue
		}
		if v2 := parts[0] == "0" && parts[1] == ""; v2 || slices.Contains(strings.Split(parts[1], ","), "memory") {
			all = append(all, membership{parts[2], v2})
		}
	}
	return all
}

// mount is where the groups of a hierarchy can be seen.
type mount struct {
	root string // the group that is mounted
	at   string // the folder, relative to the root of the file system
	v2   bool
}

// mounts reads /proc/self/mountinfo (proc_pid_mountinfo(5)): the fourth field is the root within
// the mounted file system, the fifth where it is mounted; after a dash follow the type of the
// file system, its source, and its options.
func mounts(root fs.FS) []mount {
	text, err := fs.ReadFile(root, "proc/self/mountinfo")
	if err != nil {
		return nil
	}
	var all []mount
	for line := range strings.Lines(string(text)) {
		before, after, ok := strings.Cut(line, " - ")
		head, tail := strings.Fields(before), strings.Fields(after)
		if !ok || len(head) < 5 || len(tail) < 3 {
			continue
		}
		v2 := tail[0] == "cgroup2"
		if v2 || tail[0] == "cgroup" && slices.Contains(strings.Split(tail[2], ","), "memory") {
			at := strings.Trim(unescaped(head[4]), "/")
			if at == "" {
				at = "."
			}
			all = append(all, mount{unescaped(head[3]), at, v2})
		}
	}
	return all
}

// relative returns the path of a group below the mount; "." if the group is the mounted one, or
// lies outside of what the process can see.
func (m mount) relative(group string) string {
	rest, below := strings.CutPrefix(group, strings.TrimSuffix(m.root, "/")+"/")
	if rest = path.Clean(rest); !below || rest == ".." || strings.HasPrefix(rest, "../") {
		return "."
	}
	return rest
}

// unescaped replaces \040 and the like, by which the kernel writes white space in paths.
func unescaped(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '\\' && i+4 <= len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+4], 8, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}
