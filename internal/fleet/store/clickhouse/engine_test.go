package clickhouse

import (
	"testing"

	"github.com/congctl/congctl/internal/fleet/store/clickhouse/clickhousetest"
)

// TestCurrentEngine: on the engine of a current ClickHouse the statements for current servers do what
// those for 18.16 do there.
func TestCurrentEngine(t *testing.T) {
	for _, c := range []struct {
		name string
		run  func(*testing.T, *Store)
	}{
		{"round trip", roundTrip}, {"window rows", sameWindowRows}, {"view", viewAgrees}, {"ends", endsOnce}, {"retain", retain}, {"schema before", schemaBefore}, {"derived", derived},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := initialised(t, clickhousetest.StartEngine(t))
			if !s.can.low || !s.can.codecs {
				t.Fatalf("version %s is an old one", s.version)
			}
			c.run(t, s)
		})
	}
}
