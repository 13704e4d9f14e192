package vm

import "context"

// Emulator tells, before anything runs, which QEMU would run m and with what options.
func Emulator(ctx context.Context, m Machine) (version string, options []string, err error) {
	q, err := findQEMU(ctx)
	if err != nil {
		return "", nil, err
	}
	err = m.complete()
	return q.version, m.args(nil), err
}
