package main

import (
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/app/effects"
)

// Examples must not depend on this machine's sysctls.
func init() { sysctls = "testdata/no-sysctls/" }

func TestParseSince(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"24h": "2026-11-19T12:00:00Z", "7d": "2026-11-13T12:00:00Z", "2026-11-20T11:00:00+01:00": "2026-11-20T10:00:00Z",
		"2026-11-20T13:00:00Z": "not in the past", "yesterday": "write a duration", "0s": "write a duration", "": "write a duration",
	} {
		got, err := parseSince(text, now)
		switch {
		case err != nil && !strings.Contains(err.Error(), want):
			t.Errorf("%q: %v", text, err)
		case err == nil && got.UTC().Format(time.RFC3339) != want:
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The kernel's memory of destinations: off, round trips only, and the threshold too.
func TestMetricsFinding(t *testing.T) {
	if f := effects.MetricsFinding("1", "1"); f != nil {
		t.Errorf("off: %+v", f)
	}
	weak, strong := effects.MetricsFinding("0", "1"), effects.MetricsFinding("0", "")
	if weak == nil || strings.Contains(weak.Text, "threshold") || !strings.Contains(weak.Fix, "tcp_no_metrics_save=1") {
		t.Errorf("round trips: %+v", weak)
	}
	if strong == nil || !strings.Contains(strong.Text, "threshold") {
		t.Errorf("the threshold, too: %+v", strong)
	}
	if f := effects.MetricsFinding("", ""); f != nil {
		t.Errorf("no such sysctl: %+v", f)
	}
}
