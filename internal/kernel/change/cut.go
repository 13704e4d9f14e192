package change

import "errors"

// ErrPowerCut is what a disk gives when a test has cut its power: the engine stops at
// once and does not even try to take anything back.
var ErrPowerCut = errors.New("power cut")

// Counted is a disk that counts its operations and calls Cut before the N-th, from 1
// on, whatever it is. Tests use it to end the process, or the machine, right there.
type Counted struct {
	Disk
	N   int
	Cut func() error
}

// Do counts and does.
func (c *Counted) Do(op Op) error {
	if c.N--; c.N == 0 {
		return c.Cut()
	}
	return c.Disk.Do(op)
}
