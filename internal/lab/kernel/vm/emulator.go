package vm

import "context"

// Emulator returns, before anything runs, which QEMU would run m and with what options, or
// why it cannot.
func Emulator(ctx context.Context, m Machine) (version string, options []string, err error) {
	q, err := findQEMU(ctx)
	if err != nil {
		return "", nil, err
	}
	if err = m.complete(); err == nil {
		_, err = readInit(m.Init)
	}
	return q.version, m.args(nil), err
}
