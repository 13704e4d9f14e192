package change

import (
	"fmt"
	"strconv"
	"strings"
)

func (j *Journal) reboot(boot string) {
	j.Boot = boot
	for i, s := range j.Steps {
		m := &j.Marks[i]
		if !s.Kind.Volatile() {
			continue
		}
		m.Lost, m.Old = true, s.Kind.afterBoot(m.Old)
		if m.To != nil {
			to := s.Kind.afterBoot(*m.To)
			m.To = &to
		}
	}
}

// afterBoot is an old value as a later boot has it. What enable put at a root went: there
// the kernel has what its settings say by now, which may be no longer enable's.
func (k Kind) afterBoot(v Value) Value {
	all := strings.Split(v.Text, "; ")
	if root := strings.Fields(all[0]); k != Egress || len(root) != 4 || root[2] != fmt.Sprintf("%x", OwnHandle<<16) {
		return v
	}
	for i, q := range all {
		f := strings.Fields(q)
		if len(f) != 4 {
			return v
		}
		if parent, err := strconv.ParseUint(f[1], 16, 32); err == nil && uint32(parent) != RootParent {
			f[1] = fmt.Sprintf("%x", parent&0xffff)
		}
		f[2] = "0"
		all[i] = strings.Join(f, " ")
	}
	v.Text = strings.Join(all, "; ")
	return v
}
