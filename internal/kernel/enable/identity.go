package enable

import (
	"os"
	"strings"

	"github.com/congctl/congctl/internal/kernel/clock"
)

// identity names the running kernel's boot and the machine; one without a machine id
// goes by its host name.
func identity() (boot, machine string, err error) {
	if boot, err = clock.BootText(); err != nil {
		return "", "", err
	}
	if m, err := os.ReadFile("/etc/machine-id"); err == nil && len(m) > 1 {
		return boot, strings.TrimSpace(string(m)), nil
	}
	machine, err = os.Hostname()
	return boot, machine, err
}
