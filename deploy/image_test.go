package deploy

import (
	"encoding/json"
	"strings"
	"testing"
)

// instructions returns the arguments of a Dockerfile's instructions of a kind after its last FROM, lines joined.
func instructions(t *testing.T, file, kind string) (found []string) {
	t.Helper()
	text := strings.ReplaceAll(read(t, file), "\\\n", " ")
	for _, line := range strings.Split(text, "\n") {
		word, rest, _ := strings.Cut(line, " ")
		switch word {
		case "FROM":
			found = nil
		case kind:
			found = append(found, rest)
		}
	}
	return found
}

// variables returns the variables of a Dockerfile's image.
func variables(t *testing.T, file string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, line := range instructions(t, file, "ENV") {
		for _, pair := range strings.Fields(line) {
			name, value, _ := strings.Cut(pair, "=")
			all[name] = value
		}
	}
	return all
}

// image is the server of a container: the image's variables, the argument serve, and a configuration that is mounted,
// as the Dockerfile's first lines say.
func image(t *testing.T) door {
	t.Helper()
	const config = "/etc/thresher.yaml"
	c := command{[]string{"serve"}, variables(t, "Dockerfile")}
	return door{serve: c.with(map[string]string{"THRESHER_CONFIG": config}), config: config}
}

// TestImages: both images listen alike, run without root, and start the program itself.
func TestImages(t *testing.T) {
	for _, file := range []string{"Dockerfile", "../Dockerfile.cuda"} {
		if got := variables(t, file)["THRESHER_LISTEN"]; got != ":8080" {
			t.Errorf("%s: THRESHER_LISTEN is %q", file, got)
		}
		for kind, want := range map[string]string{"USER": "65532:65532", "EXPOSE": "8080", "WORKDIR": "/data"} {
			if got := instructions(t, file, kind); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %s %q, want %s", file, kind, got, want)
			}
		}
		var entry []string
		if got := instructions(t, file, "ENTRYPOINT"); len(got) != 1 || json.Unmarshal([]byte(got[0]), &entry) != nil || len(entry) != 1 || entry[0] != "/usr/bin/thresher" {
			t.Errorf("%s: ENTRYPOINT %q", file, got)
		}
	}
}
