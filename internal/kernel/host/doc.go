// Package host reads everything about this host that decides whether BBR runs on
// it: files below /proc, /sys, /etc and /lib/modules, links and qdiscs over route
// netlink, offloads over ethtool's ioctl, connections over socket diagnosis.
//
// It judges nothing (core/advise) and changes nothing (kernel/change). It is asked
// through small interfaces, so that a text file can stand for a host: see hosttest.
//
// Its trap: it runs as anybody. What may not be read is told as unknown with the
// reason, and never ends the reading: an error here would hide all the rest.
package host
