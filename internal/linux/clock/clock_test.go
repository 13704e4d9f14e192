package clock

import (
	"testing"
	"time"
)

func TestNowAgreesWithTheStandardClock(t *testing.T) {
	before := time.Now().UnixNano()
	wall, boot := Now()
	after := time.Now().UnixNano()
	if wall < before || wall > after {
		t.Errorf("wall clock %d outside [%d, %d]", wall, before, after)
	}
	if boot <= 0 {
		t.Errorf("boot clock %d", boot)
	}
	if _, later := Now(); later < boot {
		t.Errorf("boot clock went back from %d to %d", boot, later)
	}
}

func TestBootID(t *testing.T) {
	a, err := BootID()
	if err != nil {
		t.Fatal(err)
	}
	b, _ := BootID()
	if a != b || a == [16]byte{} {
		t.Errorf("boot id %x, then %x", a, b)
	}
}
