package guest

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The machine boots with the same state of the kernel's random generator every time: no
// host randomness comes in, and interrupts come at virtual times. All randomness in an
// experiment (losses of netem, BBR's phases, ports, sequence numbers) comes from that
// generator. So a seed added to its pool, and a new key drawn from the pool, make a
// different experiment for each seed, and the same one for the same seed.

// seedRandom mixes the job's seed into the kernel's random generator.
func seedRandom(job []byte) error {
	var head struct {
		Seed *uint64 `json:"seed"`
	}
	if err := json.Unmarshal(job, &head); err != nil {
		return fmt.Errorf("read job: %w", err)
	}
	if head.Seed == nil {
		return fmt.Errorf(`read job: no "seed": a number that makes the run repeatable`)
	}
	f, err := os.OpenFile("/dev/urandom", os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("seed random generator: %w", err)
	}
	defer f.Close()
	if err := ioctl(int(f.Fd()), unix.RNDADDENTROPY, poolInfo(*head.Seed)); err != nil {
		return fmt.Errorf("seed random generator: RNDADDENTROPY: %w", err)
	}
	if err := ioctl(int(f.Fd()), unix.RNDRESEEDCRNG, nil); err != nil {
		return fmt.Errorf("seed random generator: RNDRESEEDCRNG: %w", err)
	}
	return nil
}

// poolInfo is the struct rand_pool_info of random(4): how many bits of entropy, how
// many bytes, the bytes.
func poolInfo(seed uint64) []byte {
	pool := sha256.Sum256(binary.LittleEndian.AppendUint64([]byte("congctl lab "), seed))
	info := binary.LittleEndian.AppendUint32(nil, uint32(8*len(pool)))
	info = binary.LittleEndian.AppendUint32(info, uint32(len(pool)))
	return append(info, pool[:]...)
}

func ioctl(fd int, request uint, argument []byte) error {
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), uintptr(request), uintptr(unsafe.Pointer(unsafe.SliceData(argument))))
	if errno != 0 {
		return errno
	}
	return nil
}
