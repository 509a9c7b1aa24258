package deploy

import (
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// promtool is the command that checks Prometheus' files: the one that is installed or, for it takes minutes to compile, else
// the one that go.mod pins.
func promtool() []string {
	if path, err := exec.LookPath("promtool"); err == nil {
		return []string{path}
	}
	return []string{"go", "tool", "promtool"}
}

// TestPrometheus has promtool check the configuration and the rules, and try the rules.
func TestPrometheus(t *testing.T) {
	for _, args := range []string{
		"check config --syntax-only prometheus/prometheus.yaml",
		"check rules --lint-fatal prometheus/alerts.yaml",
		"test rules prometheus/alerts_test.yaml",
	} {
		command := append(promtool(), strings.Fields(args)...)
		said, err := exec.Command(command[0], command[1:]...).CombinedOutput()
		if err != nil {
			t.Errorf("%v: %v\n%s", command, err, said)
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
