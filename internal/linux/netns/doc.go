// Package netns makes network namespaces and small networks of them: veth pairs,
// addresses, routes. For root tests and the lab.
//
// It measures nothing and carries no traffic, and it changes nothing outside the
// namespaces that it made: no route of the host.
//
// Its trap: a namespace belongs to a thread, not to a goroutine. Inside [NS.Do]
// only what runs on that very goroutine is in the namespace; goroutines that it
// starts are not. A socket keeps the namespace it was made in, so make it inside
// and use it anywhere: [NS.Listen] and [NS.Dial] do that. Never call t.Fatal
// inside Do: it ends the wrong goroutine; return an error.
package netns
