// Package control is how the verbs talk to a running congctl: JSON over HTTP on a
// unix socket. A [Query] names one question with the types of its two sides;
// [Handle] answers it, [Ask] asks it. [View] is everything that can be read, and
// has three makers: the running controller, a read-only replay of the store, and
// [Client]; a verb does not see which one answers. [Action] is everything that
// can be changed.
//
// It holds no state and decides nothing. It is not a network service: whoever may
// open the socket (mode 0660) may stop and freeze.
//
// Its trap: JSON has no NaN. An answer that holds one is refused as a whole, with
// code "internal", and not cut short.
package control
