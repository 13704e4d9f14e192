// Package control is how the verbs talk to a running congctl: JSON over HTTP on a
// unix socket. A [Query] names one request with the types of its two sides; [Handle]
// answers it, [Ask] sends it. [View] is everything that can be read. The running
// controller, a read-only replay of the store, and [Client] implement it, and a verb
// does not see which one answers. [Action] is everything that can be changed.
//
// It holds no state and decides nothing. It is not a network service: any user that may
// open the socket (mode 0660) may stop and freeze.
//
// Its trap: JSON has no NaN. A response that holds one is refused as a whole, with code
// "internal", rather than cut short.
package control
