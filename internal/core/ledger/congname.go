package ledger

import "github.com/congctl/congctl/internal/core/inetdiag"

// congNames turns a congestion control's packed name into one byte and back into
// a string made once. A kernel has a dozen; beyond 255 all others share one place.
type congNames struct {
	packs []inetdiag.Cong
	names []string
}

const otherCong = 255

// number finds c, by a walk over a few 16-byte values: cheaper than a map's hash.
func (t *congNames) number(c inetdiag.Cong) uint8 {
	for i := range t.packs {
		if t.packs[i] == c {
			return uint8(i)
		}
	}
	if len(t.packs) == otherCong {
		return otherCong
	}
	t.packs = append(t.packs, c)
	t.names = append(t.names, c.String())
	return uint8(len(t.packs) - 1)
}

func (t *congNames) name(i uint8) string {
	if int(i) < len(t.names) {
		return t.names[i]
	}
	return "other"
}

func (t *congNames) packed(i uint8) inetdiag.Cong {
	if int(i) < len(t.packs) {
		return t.packs[i]
	}
	return inetdiag.CongOf("other")
}
