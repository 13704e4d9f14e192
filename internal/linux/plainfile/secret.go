package plainfile

import (
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// ReadSecret reads a plain file that only its owner may read.
func ReadSecret(name string, most int64) ([]byte, error) {
	b, exposed, err := ReadExposed(name, most)
	if err == nil && exposed != nil {
		return nil, exposed
	}
	return b, err
}

// ReadExposed reads a plain file; exposed says that others than its owner may read it, for a file that has a secret only
// sometimes.
func ReadExposed(name string, most int64) (b []byte, exposed, err error) {
	b, st, err := read(name, most)
	if err != nil {
		return nil, nil, err
	}
	others := uint32(0o077)
	if int(st.Uid) != os.Geteuid() {
		others = 0o037 // so a service reads, by its group, what root gives it: systemd's credentials, Kubernetes' secrets
	}
	if st.Mode&others != 0 {
		exposed = UntrustedError{fmt.Sprintf("%s has mode %o: others could read it", name, st.Mode&0o7777), "chmod 600 " + name}
	}
	return b, exposed, nil
}

// ReadGuarded reads a plain file that only its owner may write.
func ReadGuarded(name string, most int64) ([]byte, error) {
	b, st, err := read(name, most)
	if err == nil && st.Mode&0o022 != 0 {
		return nil, UntrustedError{fmt.Sprintf("%s has mode %o: others could change it", name, st.Mode&0o7777), "chmod go-w " + name}
	}
	return b, err
}

func read(name string, most int64) (b []byte, st unix.Stat_t, err error) {
	f, err := Open(name)
	if err != nil {
		return nil, st, err
	}
	defer f.Close()
	if err := unix.Fstat(int(f.Fd()), &st); err != nil {
		return nil, st, &fs.PathError{Op: "stat", Path: name, Err: err}
	}
	b, err = whole(f, most)
	return b, st, err
}
