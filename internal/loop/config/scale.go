package config

import (
	"math/bits"
	"reflect"
	"time"
)

const (
	defaultWindow = 5 * time.Minute
	// minPoll: one dump of 100,000 sockets takes tens of milliseconds; polling more often
	// than ten times a second would itself load the host.
	minPoll = 100 * time.Millisecond
)

// scale stretches every duration tagged scale:"yes" by Window over the default window,
// except those that the file sets. A struct with the tag scales as a whole. What the store keeps grows where the
// policy then looks back further.
func (c *Config) scale(set func(path string) bool) {
	if c.Window == defaultWindow || c.Window <= 0 {
		return
	}
	scaleStruct(reflect.ValueOf(c).Elem(), "", false, c.Window, set)
	if !set("poll") {
		c.Poll = pollFor(c.Window, c.Poll)
	}
	for path, keep := range map[string]*time.Duration{"store.keep_windows": &c.Store.KeepWindows, "store.keep_decisions": &c.Store.KeepDecisions} {
		if !set(path) {
			*keep = max(*keep, c.Remembered())
		}
	}
}

var durationType = reflect.TypeFor[time.Duration]()

func scaleStruct(v reflect.Value, path string, all bool, window time.Duration, set func(string) bool) {
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, tagged := join(path, keyOf(f)), all || f.Tag.Get("scale") == "yes"
		switch {
		case f.Type == durationType && tagged && !set(name):
			v.Field(i).SetInt(int64(times(time.Duration(v.Field(i).Int()), window)))
		case isSeconds(f) && tagged && !set(name):
			d := times(time.Duration(v.Field(i).Int())*time.Second, window)
			v.Field(i).SetInt(int64(d / time.Second))
		case f.Type.Kind() == reflect.Struct:
			scaleStruct(v.Field(i), name, tagged, window, set)
		}
	}
}

// times returns d * window / defaultWindow without overflow: a cool-down of 8 days in
// nanoseconds times a window does not fit 64 bits.
func times(d, window time.Duration) time.Duration {
	hi, lo := bits.Mul64(uint64(d), uint64(window))
	if hi >= uint64(defaultWindow) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(hi, lo, uint64(defaultWindow))
	return time.Duration(min(q, 1<<63-1))
}

// pollFor returns the longest interval near want that divides the window: the last poll
// of a window must fall on its end. It uses whole seconds if possible, else whole
// milliseconds.
func pollFor(window, want time.Duration) time.Duration {
	unit := time.Second
	if want < unit {
		unit = time.Millisecond
	}
	for p := max(want.Truncate(unit), minPoll); p > minPoll; p -= unit {
		if window%p == 0 {
			return p
		}
	}
	return minPoll
}
