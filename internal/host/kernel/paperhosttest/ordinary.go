package paperhosttest

// ordinary is what a text need not hold: root on a machine of its own with two processors
// and nothing to do.
const ordinary = `
-- /proc/sys/kernel/arch --
x86_64
-- /proc/self/status --
Uid:	0	0	0	0
CapEff:	000001ffffffffff
-- /proc/self/uid_map --
         0          0 4294967295
-- /proc/self/mountinfo --
22 1 0:20 / /proc rw,nosuid,nodev,noexec,relatime - proc proc rw
-- /proc/self/mounts --
cgroup2 /sys/fs/cgroup cgroup2 rw,nosuid,nodev,noexec,relatime 0 0
-- /proc/stat --
cpu  1000 0 1000 97990 0 0 10 0 0 0
cpu0 500 0 500 48995 0 0 5 0 0 0
cpu1 500 0 500 48995 0 0 5 0 0 0
-- /proc/loadavg --
0.10 0.12 0.09 1/180 4242
-- /proc/pressure/cpu --
some avg10=0.00 avg60=0.10 avg300=0.05 total=1234
-- /proc/modules --
-- /proc/1/comm --
systemd
-- /sys/kernel/btf/vmlinux --
-- sysctl --
net.core.somaxconn = 4096
net.ipv4.tcp_no_metrics_save = 0
net.ipv4.tcp_wmem = 4096 16384 4194304
`
