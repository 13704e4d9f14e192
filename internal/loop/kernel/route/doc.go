// Package route treats client prefixes without eBPF: for each one it adds a route beside
// the real one that copies it and adds `congctl`, so that new connections of the prefix
// start on the treatment. It is for kernels whose sock_ops programs cannot carry ours.
//
//	default via 192.0.2.254 dev eth0
//	203.0.113.0/24 via 192.0.2.254 dev eth0 proto 156 metric 4278190236 congctl bbr    (ours)
//
// It knows no responses, no threshold and no marks: a connection is treated from its first
// byte or not at all, and changes of arm take effect at the next Set. It serves only the
// network namespace of the thread that opens it.
//
// Its trap: a route steers packets, not only congestion control. A copy that lags behind
// its original sends a prefix the old way. So a copy never outranks another route to the
// same network, a route that is not fully understood is not copied, and [Router.Follow]
// renews the copies when the routes below them change.
package route
