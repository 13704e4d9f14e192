// Package names reads the two files that name things: networks (a name and its
// prefixes) and tenants (a name and the hosts, addresses and ports it answers for).
//
// It is not the lookup: that is goodput/network.
//
// Its trap: all faults of a file come at once, as [strict.Faults], and then there is
// no table at all. Half a table would name half of the traffic.
package names
