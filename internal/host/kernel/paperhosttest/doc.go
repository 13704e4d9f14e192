// Package paperhosttest is a host written down as one readable text: its files, links, qdiscs,
// connections. The code for a real host reads it the same way, so that a dozen
// distributions, containers and broken machines can be checked on any machine.
//
// It is not for programs: only tests import it. It boots nothing and obeys nothing: a
// written setting is only stored text.
//
// Its trap: what a text leaves out is that of an ordinary machine seen by root (see
// ordinary), so a test of something missing must remove it: "-- PATH ! not there --".
//
// A text is sections. A line in column one that begins with "-- " opens one:
//
//	anything before the first section is a comment
//	-- /etc/sysctl.d/10-bbr.conf --                  a file, up to the next section
//	-- /etc/rc.local * --                            a file that may be run
//	-- /etc/sysctl.d/99-sysctl.conf -> ../sysctl.conf --   a symbolic link; its text is its target's
//	-- /boot/config-6.1 ! not permitted --           reading it fails: "not permitted", "not there", "read-only"
//	-- sysctl --                                     live settings, "key = value"
//	-- links --                                      see link.go
//	-- sockets --                                    see link.go
//	-- spaces --                                     other network namespaces, "name congestion-control"
//	-- loop --                                       "tier NAME", "reason TEXT", "sock_ops ID NAME"
//
// A section of a kind that cannot be asked is "-- spaces ! not permitted --".
package paperhosttest
