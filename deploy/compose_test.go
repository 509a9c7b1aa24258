package deploy

import (
	"slices"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// project reads compose.yaml by the schema, which allows no unknown key.
func project(t *testing.T) *types.Project {
	t.Helper()
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  "/deploy",
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: []byte(read(t, "compose.yaml"))}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// compose is the server of compose.yaml.
func compose(t *testing.T) door {
	t.Helper()
	service := project(t).Services["thresher"]
	more := map[string]string{}
	for name, value := range service.Environment {
		more[name] = *value
	}
	c := command{service.Command, variables(t, "Dockerfile")}
	return door{serve: c.with(more), config: more["THRESHER_CONFIG"]}
}

// TestCompose: what the server writes is in a volume, its configuration is mounted, and its port is published.
func TestCompose(t *testing.T) {
	p := project(t)
	service := p.Services["thresher"]
	var mounted []string
	for _, v := range service.Volumes {
		mounted = append(mounted, v.Target)
		if v.Type == types.VolumeTypeVolume && v.Target != "/data" {
			t.Errorf("a new volume at %s belongs to root: the image has an own /data alone", v.Target)
		}
	}
	if config := *service.Environment["THRESHER_CONFIG"]; !slices.Contains(mounted, config) {
		t.Errorf("the configuration is %s, and mounted are %v", config, mounted)
	}
	if len(service.Ports) != 1 || service.Ports[0].Target != 8080 {
		t.Errorf("published: %v", service.Ports)
	}
	if build := service.Build; build.Context != "/" || build.Dockerfile != "deploy/Dockerfile" {
		t.Errorf("built of %s in %s", build.Dockerfile, build.Context)
	}
}
