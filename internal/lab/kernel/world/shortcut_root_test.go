package world

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/lab/outcome"
	"github.com/congctl/congctl/internal/lab/scenario"
)

// TestShortcutsCarryWhatRoutersWouldForward: probes come back, and the routers' IP has
// forwarded none of them, but where a policer has the place.
func TestShortcutsCarryWhatRoutersWouldForward(t *testing.T) {
	for bottleneck, want := range map[string]map[string]int{
		"tbf": {bn: 0, wan: 0}, "policer": {bn: 0, wan: idleProbes},
	} {
		t.Run(bottleneck, func(t *testing.T) {
			needs(t, bottleneck)
			c := tbfCell("cubic")
			c.Path.Bottleneck, c.Path.BurstBytes = bottleneck, 30_000
			w := probed(t, &c)
			for name, n := range want {
				if got := forwarded(t, w.node(name)); got != n {
					t.Errorf("%s forwarded %d packets, want %d", name, got, n)
				}
			}
		})
	}
}

// probed is the network of a cell after its idle probes, all of which came back.
func probed(t *testing.T, c *scenario.Cell) *network {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	p, err := planOf(c, 1)
	if err != nil {
		t.Fatal(err)
	}
	w, err := buildNetwork(p)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	if err := w.node(bn).handOver(w.node(bn).links[0].index, 1); lacksPart(err) {
		t.Skipf("needs cls_bpf (CONFIG_NET_CLS_BPF) and sch_ingress; minimum kernel 5.3: %v", err)
	}
	var run outcome.Run
	r, err := newRunner(c, p, w, &run)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.close)
	if err := r.idle(ctx); err != nil {
		t.Fatal(err)
	}
	for i, probe := range run.Idle {
		if probe.RTTUs == 0 {
			t.Errorf("probe %d of %d was lost", i+1, idleProbes)
		}
	}
	return w
}

// forwarded is ForwDatagrams of /proc/net/snmp, its sixth number.
func forwarded(t *testing.T, n *node) (count int) {
	t.Helper()
	err := n.NS.Do(func() error {
		b, err := os.ReadFile("/proc/thread-self/net/snmp")
		if err != nil {
			return err
		}
		words := strings.Fields(strings.Split(string(b), "\n")[1])
		count, err = strconv.Atoi(words[6])
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count
}
