package paperhosttest_test

import (
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/host/advise"
	"github.com/congctl/congctl/internal/host/kernel/paperhosttest"
)

// settled is a host whose files set BBR and fq, for a boot that may have another writer.
const settled = `-- /proc/sys/kernel/osrelease --
6.6.30
-- /boot/config-6.6.30 --
CONFIG_TCP_CONG_BBR=m
CONFIG_TCP_CONG_HTCP=y
CONFIG_DEFAULT_TCP_CONG="cubic"
CONFIG_NET_SCH_FQ=y
-- /lib -> usr/lib --
-- /run/systemd/system/basic --
-- /usr/lib/systemd/systemd-sysctl --
-- /usr/lib/systemd/system-generators/systemd-rc-local-generator * --
-- /etc/sysctl.d/90-bbr.conf --
net.core.default_qdisc = fq
net.ipv4.tcp_congestion_control = bbr
-- /etc/own.conf --
net.ipv4.tcp_congestion_control = cubic
-- sysctl --
net.ipv4.tcp_available_congestion_control = reno cubic bbr htcp
net.ipv4.tcp_allowed_congestion_control = reno cubic bbr
net.ipv4.tcp_congestion_control = bbr
net.core.default_qdisc = fq
`

// writers are sections that a host has beside those above, with the congestion control after its next boot, or, where that
// is unknown, a part of the reason: the writer.
var writers = []struct{ name, sections, want string }{
	{"none", "", "bbr"},
	{"ufw", "-- /etc/ufw/ufw.conf --\nENABLED=yes\n-- /etc/default/ufw --\nIPT_SYSCTL=/etc/ufw/sysctl.conf\n-- /etc/ufw/sysctl.conf --\n#net/ipv4/ip_forward=1\nnet/ipv4/tcp_congestion_control=cubic", "/etc/ufw/sysctl.conf:2"},
	{"ufw, dotted", "-- /etc/ufw/ufw.conf --\nENABLED=yes\n-- /etc/default/ufw --\nIPT_SYSCTL=\"/etc/ufw/my.conf\"\n-- /etc/ufw/my.conf --\nnet.ipv4.tcp_congestion_control = reno", "/etc/ufw/my.conf:1"},
	{"ufw, the same", "-- /etc/ufw/ufw.conf --\nENABLED=yes\n-- /etc/default/ufw --\nIPT_SYSCTL=/etc/ufw/sysctl.conf\n-- /etc/ufw/sysctl.conf --\nnet/ipv4/tcp_congestion_control=bbr", "bbr"},
	{"ufw, off", "-- /etc/ufw/ufw.conf --\nENABLED=no\n-- /etc/default/ufw --\nIPT_SYSCTL=/etc/ufw/sysctl.conf\n-- /etc/ufw/sysctl.conf --\nnet/ipv4/tcp_congestion_control=cubic", "bbr"},
	{"ufw, no file of settings", "-- /etc/ufw/ufw.conf --\nENABLED=yes\n-- /etc/default/ufw --\nIPT_SYSCTL=\n-- /etc/ufw/sysctl.conf --\nnet/ipv4/tcp_congestion_control=cubic", "bbr"},
	{"ufw without defaults", "-- /etc/ufw/ufw.conf --\nENABLED=yes\n-- /etc/ufw/sysctl.conf --\nnet/ipv4/tcp_congestion_control=cubic", "/etc/ufw/sysctl.conf:1"},
	{"ufw, hidden", "-- /etc/ufw/ufw.conf --\nENABLED=yes\n-- /etc/default/ufw --\nIPT_SYSCTL=/etc/ufw/sysctl.conf\n-- /etc/ufw/sysctl.conf ! not permitted --", "/etc/ufw/sysctl.conf: not permitted"},

	{"tmpfiles.d", "-- /etc/tmpfiles.d/cong.conf --\nw /proc/sys/net/ipv4/tcp_congestion_control - - - - cubic", "/etc/tmpfiles.d/cong.conf:1"},
	{"tmpfiles.d, at boot", "-- /usr/lib/tmpfiles.d/cong.conf --\nw!- /proc/sys/net/ipv4/tcp_congestion_control - - - - cubic", "/usr/lib/tmpfiles.d/cong.conf:1"},
	{"tmpfiles.d, the same", "-- /etc/tmpfiles.d/cong.conf --\nw /proc/sys/net/ipv4/tcp_congestion_control - - - - bbr", "bbr"},
	{"tmpfiles.d, masked", "-- /usr/lib/tmpfiles.d/cong.conf --\nw /proc/sys/net/ipv4/tcp_congestion_control - - - - cubic\n-- /etc/tmpfiles.d/cong.conf -> /dev/null --", "bbr"},

	{"a unit", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=/sbin/sysctl -w net.ipv4.tcp_congestion_control=cubic\n[Install]\nWantedBy=multi-user.target\n-- /etc/systemd/system/multi-user.target.wants/tune.service -> ../tune.service --", "/etc/systemd/system/tune.service:2"},
	{"a unit by a shell", "-- /usr/lib/systemd/system/tune.service --\n[Service]\nExecStart=/bin/sh -c 'echo cubic > /proc/sys/net/ipv4/tcp_congestion_control'", "/usr/lib/systemd/system/tune.service:2"},
	{"a unit, a variable", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=/bin/sh -c 'echo $CC > /proc/sys/net/ipv4/tcp_congestion_control'", "/etc/systemd/system/tune.service:2"},
	{"a unit, the same", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=sysctl -w net.ipv4.tcp_congestion_control=bbr", "bbr"},
	{"a unit that nothing starts", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=sysctl -w net.ipv4.tcp_congestion_control=cubic\n[Install]\nWantedBy=multi-user.target", "bbr"},
	{"an instance", "-- /etc/systemd/system/tune@.service --\n[Service]\nExecStart=sysctl -w net.ipv4.tcp_congestion_control=cubic\n[Install]\nWantedBy=multi-user.target\n-- /etc/systemd/system/multi-user.target.wants/tune@eth0.service -> ../tune@.service --", "/etc/systemd/system/tune@.service:2"},
	{"a timer", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=sysctl -w net.ipv4.tcp_congestion_control=cubic\n[Install]\nWantedBy=multi-user.target\n-- /etc/systemd/system/timers.target.wants/tune.timer -> ../tune.timer --", "/etc/systemd/system/tune.service:2"},
	{"all files again", "-- /etc/sysctl.conf --\nnet.ipv4.tcp_congestion_control=cubic\n-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=/sbin/sysctl --system", "/etc/systemd/system/tune.service:2"},
	{"all files again, the same", "-- /etc/sysctl.conf --\nnet.ipv4.tcp_congestion_control=bbr\n-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=/sbin/sysctl --system", "bbr"},
	{"a masked applier", "-- /etc/systemd/system/systemd-sysctl.service -> /dev/null --", "cubic"},
	{"a masked unit", "-- /usr/lib/systemd/system/tune.service --\n[Service]\nExecStart=sysctl -w net.ipv4.tcp_congestion_control=cubic\n-- /etc/systemd/system/tune.service -> /dev/null --", "bbr"},
	{"a unit's drop-in", "-- /etc/systemd/system/nginx.service.d/cc.conf --\n[Service]\nExecStartPost=+sysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/systemd/system/nginx.service.d/cc.conf:2"},
	{"a unit and a file of its own", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=sysctl -p /etc/own.conf", "/etc/own.conf:1"},
	{"a unit's script", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=-/usr/local/sbin/tune --all\n-- /usr/local/sbin/tune * --\n#!/bin/sh\nsysctl -w net.ipv4.tcp_congestion_control=cubic", "/usr/local/sbin/tune:2"},
	{"a comment", "-- /etc/systemd/system/tune.service --\n# sysctl -w net.ipv4.tcp_congestion_control=cubic\n[Service]\nExecStart=/bin/true", "bbr"},
	{"another setting", "-- /etc/systemd/system/tune.service --\n[Service]\nExecStart=sysctl -w net.ipv4.tcp_congestion_control_x=cubic net.core.somaxconn=1", "bbr"},
	{"a unit called sysctl", "-- /etc/systemd/system/sysctl-tune.service --\n[Service]\nExecStart=sysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/systemd/system/sysctl-tune.service:2"},

	{"cron", "-- /etc/cron.d/tune --\n@reboot root sysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/cron.d/tune:1"},
	{"root's crontab", "-- /var/spool/cron/crontabs/root --\n@reboot echo cubic > /proc/sys/net/ipv4/tcp_congestion_control", "/var/spool/cron/crontabs/root:1"},
	{"cron, hidden", "-- /var/spool/cron/crontabs ! not permitted --", "/var/spool/cron/crontabs: not permitted"},
	{"a dispatcher of NetworkManager", "-- /etc/NetworkManager/dispatcher.d/50-sysctl * --\n#!/bin/sh\n[ \"$2\" = up ] && sysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/NetworkManager/dispatcher.d/50-sysctl:2"},
	{"networkd-dispatcher", "-- /etc/networkd-dispatcher/routable.d/cc * --\nsysctl net.ipv4.tcp_congestion_control=cubic", "/etc/networkd-dispatcher/routable.d/cc:1"},
	{"ifupdown", "-- /etc/network/interfaces --\niface eth0 inet dhcp\n  post-up sysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/network/interfaces:2"},
	{"udev", "-- /etc/udev/rules.d/99-cc.rules --\nACTION==\"add\", SUBSYSTEM==\"net\", SYSCTL{net/ipv4/tcp_congestion_control}=\"cubic\"", "/etc/udev/rules.d/99-cc.rules:1"},
	{"modprobe.d", "-- /etc/modprobe.d/cc.conf --\ninstall virtio_net /sbin/modprobe -i virtio_net; sysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/modprobe.d/cc.conf:1"},
	{"cloud-init, each boot", "-- /etc/cloud/cloud.cfg.d/90-cc.cfg --\nbootcmd:\n - sysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/cloud/cloud.cfg.d/90-cc.cfg:2"},
	{"cloud-init, once", "-- /var/lib/cloud/instance/user-data.txt --\n#cloud-config\nruncmd:\n - sysctl -w net.ipv4.tcp_congestion_control=cubic", "bbr"},
	{"a script of sysvinit", "-- /etc/rc2.d/S20cc -> ../init.d/cc --\n-- /etc/init.d/cc * --\nsysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/rc2.d/S20cc:1"},
	{"rc.local's script", "-- /etc/rc.local * --\n#!/bin/sh\n/opt/tune/start.sh\n-- /opt/tune/start.sh * --\nsysctl -w net.ipv4.tcp_congestion_control=cubic", "/opt/tune/start.sh:1"},

	{"kernel command line, and a file", "-- /proc/cmdline --\nquiet sysctl.net.ipv4.tcp_congestion_control=cubic", "bbr"},
	{"kernel command line alone", "-- /etc/sysctl.d/90-bbr.conf --\n-- /proc/cmdline --\nquiet sysctl.net.ipv4.tcp_congestion_control=htcp", "htcp"},
	{"kernel command line, slashes", "-- /etc/sysctl.d/90-bbr.conf --\n-- /proc/cmdline --\nsysctl.net/ipv4/tcp_congestion_control=reno", "reno"},
	{"kernel command line, a module", "-- /etc/sysctl.d/90-bbr.conf --\n-- /proc/cmdline --\nsysctl.net.ipv4.tcp_congestion_control=bbr", "the kernel's command line: sets bbr before"},
	{"kernel command line, not there", "-- /lib/modules/6.6.30/modules.dep --\nkernel/net/ipv4/tcp_bbr.ko:\n-- /etc/sysctl.d/90-bbr.conf --\n-- /proc/cmdline --\nsysctl.net.ipv4.tcp_congestion_control=cake", "cubic"},
	{"a directory that may not be listed", "-- /usr/lib/sysctl.d ! not permitted --", "/usr/lib/sysctl.d: not permitted"},
	{"kernel command line, too old", "-- /proc/sys/kernel/osrelease --\n5.4.0\n-- /boot/config-5.4.0 --\nCONFIG_DEFAULT_TCP_CONG=\"cubic\"\n-- /etc/sysctl.d/90-bbr.conf --\n-- /proc/cmdline --\nsysctl.net.ipv4.tcp_congestion_control=reno", "cubic"},

	{"tuned", "-- /etc/tuned/active_profile --\nsite\n-- /etc/tuned/site/tuned.conf --\n[sysctl]\nnet.ipv4.tcp_congestion_control = htcp", "bbr"},
	{"tuned, last", "-- /etc/tuned/tuned-main.conf --\nreapply_sysctl = 0\n-- /etc/tuned/active_profile --\nsite\n-- /etc/tuned/site/tuned.conf --\n[sysctl]\nnet.ipv4.tcp_congestion_control = htcp", "htcp"},
	{"tuned, a section of that type", "-- /etc/tuned/tuned-main.conf --\nreapply_sysctl=False\n-- /etc/tuned/active_profile --\nsite\n-- /etc/tuned/site/tuned.conf --\n[net]\ntype=sysctl\nnet.ipv4.tcp_congestion_control=htcp", "htcp"},
	{"tuned, a variable", "-- /etc/tuned/tuned-main.conf --\nreapply_sysctl = 0\n-- /etc/tuned/active_profile --\nsite\n-- /etc/tuned/site/tuned.conf --\n[variables]\ncc=htcp\n[sysctl]\nnet.ipv4.tcp_congestion_control = ${cc}", "/etc/tuned/site/tuned.conf:4"},
	{"tuned's script", "-- /etc/tuned/active_profile --\nsite\n-- /etc/tuned/site/tuned.conf --\n[script]\nscript=${i:PROFILE_DIR}/script.sh\n-- /etc/tuned/site/script.sh * --\n#!/bin/sh\nsysctl -w net.ipv4.tcp_congestion_control=cubic", "/etc/tuned/site/script.sh:2"},
}

// TestWriters: a value after a boot is known only if no writer is seen that could make it another one.
func TestWriters(t *testing.T) {
	for _, c := range writers {
		h, err := paperhosttest.Parse(settled + c.sections)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		facts := h.Read()
		b := facts.AfterBoot(advise.KeyCong)
		if b.OK() && b.Value.Value != c.want || !b.OK() && !strings.Contains(b.Why, c.want) {
			t.Errorf("%s: %q (%s), want %s", c.name, b.Value.Value, b.Why, c.want)
		}
		if q := facts.AfterBoot(advise.KeyQdisc); q.Value.Value != "fq" && strings.Contains(c.sections, "tcp_cong") && !strings.Contains(c.sections, "90-bbr.conf --\n--") {
			t.Errorf("%s: the qdisc is %+v", c.name, q)
		}
	}
}
