package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"

	"thresher/config"
	"thresher/internal/cli"
	"thresher/internal/machine"
	"thresher/service"
)

// serverMemory returns the memory of a server: what the setting says, or else what the control
// groups and the machine allow, or else, if that is unknown, the least that the setting may be.
func (a *app) serverMemory() machine.Allowance {
	if given := a.Config.Server.Memory; given > 0 {
		return machine.Allowance{Bytes: given, Of: a.Config.Origin("memory").String()}
	}
	found, ok := machine.Limit(os.DirFS("/"))
	if !ok {
		found.Of = "unknown"
	}
	found.Bytes = max(found.Bytes, config.MinMemory)
	return found
}

// connectionBytes is the memory that is set aside for a connection in deciding how many there may be.
const connectionBytes = 256 << 10

// serverConnections returns the number of connections that a server accepts: what the setting says,
// or else as many as memory and three quarters of the file descriptors suffice for.
func (a *app) serverConnections(memory int64) int {
	if given := a.Config.Server.MaxConnections; given > 0 {
		return given
	}
	most := int(memory / connectionBytes)
	if files, ok := cli.FileDescriptors(); ok {
		most = min(most, files/4*3)
	}
	return max(most, 1)
}

// sharedLimits are the settings that are upper limits within a share of the memory, by the share.
func sharedLimits(c *config.Server) map[string]sharedLimit {
	return map[string]sharedLimit{
		"collections": {"limits.memory", c.MaxMemory}, "bodies": {"limits.bodies", c.MaxBodies}, "answers": {"limits.answers", c.MaxAnswers},
		"tournaments": {"tournaments.memory", c.TournamentMemory}, "slates": {"slates.memory", c.SlateMemory},
	}
}

type sharedLimit struct {
	key   string
	bytes int64
}

// checkShares warns of limits that were given and are above their share of the memory.
func (a *app) checkShares(memory machine.Allowance, shares service.Shares) {
	for share, l := range sharedLimits(&a.Config.Server) {
		if bytes := shares.Names()[share]; l.bytes > bytes && a.Config.Origin(l.key).Kind != config.FromDefault {
			a.Log.Warn("a limit is above its share of the memory, which holds; more memory makes it larger",
				"setting", l.key, "limit", l.bytes, "share", bytes, "memory", memory.Bytes, "of", memory.Of)
		}
	}
}

// memoryShown is the memory of a server as config show prints it.
type memoryShown struct {
	Bytes  int64            `json:"bytes"`
	From   string           `json:"from"`
	Shares map[string]int64 `json:"shares"`
	// Connections is how many the server accepts.
	Connections int `json:"connections"`
}

// showMemory returns how a server with these settings divides its memory.
func (a *app) showMemory() memoryShown {
	memory := a.serverMemory()
	return memoryShown{memory.Bytes, memory.Of, service.Divide(memory.Bytes, a.serviceLimits(), a.extensions()).Names(), a.serverConnections(memory.Bytes)}
}

// String is the line of the table of config show.
func (m memoryShown) String() string {
	text := fmt.Sprintf("thresher serve would take %s of memory (%s) and %d connections:", mebibytes(m.Bytes), m.From, m.Connections)
	names := make([]string, 0, len(m.Shares))
	for name := range m.Shares {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(m.Shares[b], m.Shares[a]), cmp.Compare(a, b)) })
	for i, name := range names {
		if i > 0 {
			text += ","
		}
		text += " " + name + " " + mebibytes(m.Shares[name])
	}
	return text
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }
