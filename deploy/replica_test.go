package deploy

import (
	"maps"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
)

// TestReplicas: the Deployment of read-only servers fits together, has no data of its own, and keeps what it fetches in a volume.
func TestReplicas(t *testing.T) {
	var service *core.Service
	var account *core.ServiceAccount
	var server *apps.Deployment
	for _, object := range objects(t, "kubernetes/replica.yaml") {
		switch o := object.(type) {
		case *core.Service:
			service = o
		case *core.ServiceAccount:
			account = o
		case *apps.Deployment:
			server = o
		default:
			t.Errorf("%T is not checked here", object)
		}
	}
	if service == nil || account == nil || server == nil {
		t.Fatalf("Service %v, ServiceAccount %v, Deployment %v", service, account, server)
	}
	pod := &server.Spec.Template
	container := &pod.Spec.Containers[0]
	if !selects(service.Spec.Selector, pod.Labels) || !maps.Equal(server.Spec.Selector.MatchLabels, pod.Labels) {
		t.Errorf("the pods' labels %v are not those that are selected: %v, %v", pod.Labels, service.Spec.Selector, server.Spec.Selector.MatchLabels)
	}
	if all := decoded(t); selects(all.service.Spec.Selector, pod.Labels) || selects(service.Spec.Selector, all.server.Spec.Template.Labels) {
		t.Error("the Services of the server that is written and of its replicas select each other's pods")
	}
	if pod.Spec.ServiceAccountName != account.Name {
		t.Errorf("service account %q, not %q", pod.Spec.ServiceAccountName, account.Name)
	}
	name := container.Ports[0].Name
	if got := service.Spec.Ports[0].TargetPort.StrVal; got != name || container.Ports[0].ContainerPort != 8080 {
		t.Errorf("the Service calls port %q, the container has %v", got, container.Ports)
	}
	for path, p := range map[string]*core.Probe{"/healthz": container.LivenessProbe, "/readyz": container.ReadinessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Port.StrVal != name || p.HTTPGet.Path != path {
			t.Errorf("probe %v does not ask %s at port %q", p, path, name)
		}
	}
	checkPod(t, &pod.Spec, nil)
	c := started(t, container)
	if args := strings.Join(container.Args, " "); !strings.HasPrefix(args, "serve --read-only --collection=films=s3://") {
		t.Errorf("arguments %q", args)
	}
	for _, variable := range []string{"THRESHER_CACHE", "XDG_CACHE_HOME"} {
		within := false
		for _, m := range container.VolumeMounts {
			within = within || strings.HasPrefix(c.variables[variable]+"/", m.MountPath+"/") && !m.ReadOnly
		}
		if !within {
			t.Errorf("%s is %q, in no volume", variable, c.variables[variable])
		}
	}
}
