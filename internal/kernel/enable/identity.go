package enable

import (
	"fmt"
	"os"
	"strings"
)

// identity names the running kernel's boot and the machine; one without a machine id
// goes by its host name.
func identity() (boot, machine string, err error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", "", fmt.Errorf("read boot id: %w", err)
	}
	if m, err := os.ReadFile("/etc/machine-id"); err == nil && len(m) > 1 {
		return strings.TrimSpace(string(b)), strings.TrimSpace(string(m)), nil
	}
	machine, err = os.Hostname()
	return strings.TrimSpace(string(b)), machine, err
}
