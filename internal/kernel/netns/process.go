package netns

import (
	"fmt"
	"os/exec"
	"syscall"
)

// Start starts cmd inside the namespace and, when cg is not nil, inside that
// cgroup from its first instruction (clone3 with CLONE_INTO_CGROUP, 5.7): a
// process that is moved later may have opened sockets in the old one.
func (n *NS) Start(cmd *exec.Cmd, cg *Cgroup) error {
	if cg != nil {
		if cmd.SysProcAttr == nil {
			cmd.SysProcAttr = &syscall.SysProcAttr{}
		}
		cmd.SysProcAttr.UseCgroupFD = true
		cmd.SysProcAttr.CgroupFD = int(cg.dir.Fd())
	}
	if err := n.Do(cmd.Start); err != nil {
		return fmt.Errorf("start %s in network namespace: %w", cmd.Path, err)
	}
	return nil
}
