package model

import (
	"math"
	"testing"
)

func TestAfterLostRequest(t *testing.T) {
	for _, k := range []struct {
		name string
		of   Transfer
		want float64
	}{
		{"4 s of bytes take 5", Transfer{Bytes: 4e6 / 8}, 0.8e6},
		{"10 s lose one", Transfer{Seconds: 10}, 0.9e6},
		{"ended by time", Transfer{Bytes: 10e6 / 8, Seconds: 5}, 0.8e6},
		{"ended by bytes", Transfer{Bytes: 4e6 / 8, Seconds: 50}, 0.8e6},
		{"without end", Transfer{}, 1e6},
		{"over before the timeout", Transfer{Seconds: 0.5}, 1e6},
	} {
		if got := AfterLostRequest(1e6, k.of); math.Abs(got-k.want) > 1e-6 {
			t.Errorf("%s: %v, want %v", k.name, got, k.want)
		}
	}
}
