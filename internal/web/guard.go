package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
)

// Guard answers this page only. A page of another site can make a browser send requests here: as
// that site, which cross-origin protection refuses, or under a name that it points at this host
// (DNS rebinding), which the header Host gives away. names are those of this host besides its addresses
// and localhost.
func Guard(h http.Handler, names ...string) http.Handler {
	same := http.NewCrossOriginProtection().Handler(h)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		if _, err := netip.ParseAddr(host); err != nil && host != "localhost" && !slices.Contains(names, host) {
			http.Error(w, fmt.Sprintf("no page for host %q: open it by address, or by the name in metrics.listen", host), http.StatusMisdirectedRequest)
			return
		}
		same.ServeHTTP(w, r)
	})
}
