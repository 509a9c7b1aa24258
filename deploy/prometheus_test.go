package deploy

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// promtool returns the program that checks Prometheus' files: the one that is installed, or else the one that .ci/packages
// unpacked. To compile it would take minutes and hundreds of modules.
func promtool(t *testing.T) string {
	for _, name := range []string{"promtool", "../build/promtool/usr/bin/promtool"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("promtool is missing: rules and configuration of Prometheus are not checked")
	return ""
}

// TestPrometheus has promtool check the configuration and the rules, and try the rules.
func TestPrometheus(t *testing.T) {
	program := promtool(t)
	for _, args := range []string{
		"check config --syntax-only prometheus/prometheus.yaml",
		"check rules --lint-fatal prometheus/alerts.yaml",
		"test rules prometheus/alerts_test.yaml",
	} {
		said, err := exec.Command(program, strings.Fields(args)...).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s", args, err, said)
		}
	}
}

// TestEveryAlertIsTried: a rule that is not expected to fire in alerts_test.yaml may never do so.
func TestEveryAlertIsTried(t *testing.T) {
	tried := read(t, "prometheus/alerts_test.yaml")
	alerts := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(read(t, "prometheus/alerts.yaml"), -1)
	if len(alerts) < 10 {
		t.Fatalf("found %d alerts only", len(alerts))
	}
	for _, a := range alerts {
		if !strings.Contains(tried, `alertname="`+a[1]+`"`) {
			t.Errorf("alerts_test.yaml does not expect %s", a[1])
		}
	}
}
