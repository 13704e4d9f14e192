package listener

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// open has the paths that scrapers and probes of other hosts ask for, by whichever name they know this host.
var open = []string{"/metrics", "/healthz", "/readyz"}

// guard answers no page of another site. Such a page can make a browser send requests here: as that site, which
// Sec-Fetch-Site or Origin gives away, or under a name that it points at this host (DNS rebinding), which Host gives
// away. names are those of this host besides its addresses and localhost. What comes to an address that is not loopback
// may ask for what is open under any name: who reaches that address may read it anyway.
func guard(h http.Handler, names ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		anyName := slices.Contains(open, r.URL.Path) && !loopback(localAddr(r))
		host := hostOf(r.Host)
		_, err := netip.ParseAddr(host)
		switch {
		case err != nil && host != "localhost" && !slices.Contains(names, host) && !anyName:
			http.Error(w, fmt.Sprintf("no page for host %.100q: open it by address, or by the name that the configuration listens on", host), http.StatusMisdirectedRequest)
		case elsewhere(r) && !followed(r):
			http.Error(w, "asked by another site's page", http.StatusForbidden)
		default:
			h.ServeHTTP(w, r)
		}
	})
}

// hostOf is a name or an address without port and brackets, in lower case.
func hostOf(host string) string {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	} else if h, ok := strings.CutPrefix(host, "["); ok {
		host = strings.TrimSuffix(h, "]")
	}
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// elsewhere reports whether another site's page asks, as far as the browser says so.
func elsewhere(r *http.Request) bool {
	switch r.Header.Get("Sec-Fetch-Site") {
	case "same-origin", "none":
		return false
	case "":
		origin := r.Header.Get("Origin")
		u, err := url.Parse(origin)
		return origin != "" && (err != nil || !strings.EqualFold(u.Host, r.Host))
	}
	return true
}

// followed reports whether a person followed a link to a page, which no other page can read or frame.
func followed(r *http.Request) bool {
	return (r.URL.Path == "/" || slices.Contains(open, r.URL.Path)) && r.Method == http.MethodGet &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

func localAddr(r *http.Request) netip.Addr {
	a, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if a == nil {
		return netip.Addr{}
	}
	p, _ := netip.ParseAddrPort(a.String())
	return p.Addr()
}

// loopback counts an unknown address as one.
func loopback(a netip.Addr) bool { return !a.IsValid() || a.Unmap().IsLoopback() }
