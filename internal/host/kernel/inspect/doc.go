// Package inspect reads everything about this host that decides whether BBR runs on
// it: files below /proc, /sys, /etc and /lib/modules, links and qdiscs over route
// netlink, offloads over ethtool's ioctl, connections over socket diagnosis.
//
// It judges nothing (host/advise) and changes nothing (change/kernel/carry). It uses small
// interfaces, so that a text file can stand for a host: see paperhosttest.
//
// Its trap: it runs as any user. What may not be read is reported as unknown with the
// reason, and never ends the reading: an error here would hide everything else.
package inspect
