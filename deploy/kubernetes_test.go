package deploy

import (
	"bufio"
	"bytes"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// manifests are the objects of kubernetes/thresher.yaml.
type manifests struct {
	service *core.Service
	server  *apps.StatefulSet
	backup  *batch.CronJob
}

// decoded reads the manifests of a server into their types.
func decoded(t *testing.T) (all manifests) {
	t.Helper()
	for _, object := range objects(t, "kubernetes/thresher.yaml") {
		switch o := object.(type) {
		case *core.Service:
			all.service = o
		case *apps.StatefulSet:
			all.server = o
		case *batch.CronJob:
			all.backup = o
		default:
			t.Errorf("%T is not checked here", object)
		}
	}
	return all
}

// objects reads the objects of a file into their types: unknown and repeated fields are errors.
func objects(t *testing.T, path string) (all []runtime.Object) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{core.AddToScheme, apps.AddToScheme, batch.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(read(t, path))))
	for {
		text, err := documents.Read()
		if err == io.EOF {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		object, _, err := decoder.Decode(text, nil, nil)
		if err != nil {
			t.Fatalf("%s: %v in\n%s", path, err, bytes.TrimSpace(text))
		}
		all = append(all, object)
	}
}

// started is the command of a container of the image.
func started(t *testing.T, c *core.Container) command {
	t.Helper()
	more := map[string]string{}
	for _, v := range c.Env {
		more[v.Name] = v.Value
	}
	return command{c.Args, variables(t, "Dockerfile")}.with(more)
}

// kubernetes is the server of the StatefulSet, with the CronJob that backs it up.
func kubernetes(t *testing.T) door {
	t.Helper()
	all := decoded(t)
	serve := started(t, &all.server.Spec.Template.Spec.Containers[0])
	backup := started(t, &all.backup.Spec.JobTemplate.Spec.Template.Spec.Containers[0])
	return door{serve: serve, config: serve.variables["THRESHER_CONFIG"], backup: &backup, secret: backup.variables["THRESHER_TOKEN_FILE"]}
}

// TestManifestsFitTogether: selectors select the server alone, ports have the names by which they are called, and
// what is mounted is there.
func TestManifestsFitTogether(t *testing.T) {
	all := decoded(t)
	pod := &all.server.Spec.Template
	container := &pod.Spec.Containers[0]
	if !selects(all.service.Spec.Selector, pod.Labels) || !maps.Equal(all.server.Spec.Selector.MatchLabels, pod.Labels) {
		t.Errorf("the server's labels %v are not those that are selected: %v, %v", pod.Labels, all.service.Spec.Selector, all.server.Spec.Selector.MatchLabels)
	}
	if labels := all.backup.Spec.JobTemplate.Spec.Template.Labels; selects(all.service.Spec.Selector, labels) {
		t.Errorf("the Service sends requests to the backup's pod, with the labels %v", labels)
	}
	if all.server.Spec.ServiceName != all.service.Name || *all.server.Spec.Replicas != 1 {
		t.Errorf("Service %s, %d replicas", all.server.Spec.ServiceName, *all.server.Spec.Replicas)
	}
	if len(container.Ports) != 1 || container.Ports[0].ContainerPort != 8080 {
		t.Fatalf("ports: %v", container.Ports)
	}
	name := container.Ports[0].Name
	if got := all.service.Spec.Ports[0].TargetPort.StrVal; got != name {
		t.Errorf("the Service calls port %q, the container has %q", got, name)
	}
	for _, p := range []*core.Probe{container.StartupProbe, container.LivenessProbe, container.ReadinessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Port.StrVal != name {
			t.Errorf("probe %v does not ask port %q", p, name)
		}
	}
	for _, spec := range []*core.PodSpec{&pod.Spec, &all.backup.Spec.JobTemplate.Spec.Template.Spec} {
		checkPod(t, spec, all.server.Spec.VolumeClaimTemplates)
	}
}

// selects reports whether a selector selects a pod with the labels.
func selects(selector, labels map[string]string) bool {
	for name, value := range selector {
		if labels[name] != value {
			return false
		}
	}
	return true
}

// checkPod checks a pod's volumes, and that it runs as the image's user with a root file system that is not written to.
func checkPod(t *testing.T, spec *core.PodSpec, claims []core.PersistentVolumeClaim) {
	t.Helper()
	var volumes, mounted []string
	for _, v := range spec.Volumes {
		volumes = append(volumes, v.Name)
	}
	for _, c := range claims {
		volumes = append(volumes, c.Name)
	}
	container := &spec.Containers[0]
	for _, m := range container.VolumeMounts {
		mounted = append(mounted, m.Name)
		if !slices.Contains(volumes, m.Name) {
			t.Errorf("%s mounts %s, which is no volume", container.Name, m.Name)
		}
	}
	for _, v := range spec.Volumes {
		if !slices.Contains(mounted, v.Name) {
			t.Errorf("%s does not mount %s", container.Name, v.Name)
		}
	}
	if user := spec.SecurityContext.RunAsUser; user == nil || *user != 65532 {
		t.Errorf("%s does not run as the user of the image", container.Name)
	}
	if root := container.SecurityContext.ReadOnlyRootFilesystem; root == nil || !*root {
		t.Errorf("%s may write to its root file system", container.Name)
	}
}
