package listener

import (
	"mime"
	"strconv"
	"strings"

	"github.com/congctl/congctl/internal/metrics"
)

// offers are what a page can be, the preferred first: also for who says nothing, or asks for what there is not.
var offers = []string{metrics.ContentType, metrics.PlainType}

// accepted returns the offer that a request's header Accept gives the most weight: of the most specific range that has
// it, as RFC 9110, 12.5.1 says.
func accepted(header []string) string {
	best, most := offers[0], 0.0
	ranges := rangesOf(strings.Join(header, ","))
	for _, offer := range offers {
		if q := weight(ranges, offer); q > most {
			best, most = offer, q
		}
	}
	return best
}

// mediaRange is one that a request accepts; * is any, and version "" any version.
type mediaRange struct {
	kind, version string
	q             float64
}

// rangesOf leaves out what is not as the RFC says.
func rangesOf(accept string) (list []mediaRange) {
	for text := range strings.SplitSeq(accept, ",") {
		kind, params, err := mime.ParseMediaType(text)
		r := mediaRange{kind, params["version"], 1}
		if q, ok := params["q"]; ok && err == nil {
			r.q, err = strconv.ParseFloat(q, 64)
		}
		if err == nil && r.q >= 0 && r.q <= 1 {
			list = append(list, r)
		}
	}
	return list
}

func weight(ranges []mediaRange, offer string) (q float64) {
	kind, params, _ := mime.ParseMediaType(offer) // ours is valid
	group, _, _ := strings.Cut(kind, "/")
	closest := 0
	for _, r := range ranges {
		near := 0
		switch {
		case r.kind == kind && r.version == params["version"]:
			near = 4
		case r.kind == kind && r.version == "":
			near = 3
		case r.kind == group+"/*":
			near = 2
		case r.kind == "*/*":
			near = 1
		}
		if near > closest || near > 0 && near == closest && r.q > q {
			closest, q = near, r.q
		}
	}
	return q
}
