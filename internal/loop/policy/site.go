package policy

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/congctl/congctl/internal/tcp/record"
	"github.com/congctl/congctl/internal/tcp/stat"
)

// No site holds more than its share c of the weight that draws the boundary: the 256 /56 of
// one /48 cost its owner nothing, and 30 slow ones among 100 other networks would otherwise
// be the slowest fifth. With n networks in a site and W the sum of all weights,
//
//	w = min(1, c W / n)  for each of its networks,  W = sum of w,
//	c = max(SiteShare, 2 / number of sites)
//
// The second term makes W unique: at most half of the sites are capped. With fewer sites than
// MinRanked nothing is bounded: all of a town's networks may be in the /20 of one provider.

// siteShare returns c for so many sites.
func (r Rules) siteShare(sites int) float64 {
	if sites < r.MinRanked {
		return 1
	}
	return max(r.SiteShare, 2/float64(sites))
}

// siteSizes returns how many networks each site has.
func siteSizes(list []ranked) map[record.Prefix]float64 {
	size := map[record.Prefix]float64{}
	for _, x := range list {
		size[x.site]++
	}
	return size
}

// boundary is the weighted quantile q of the ranked, which are in ascending order, with at
// most the share c for a site.
func boundary(list []ranked, size map[record.Prefix]float64, c, q float64) float64 {
	most := stat.MostOf(slices.Collect(maps.Values(size)), c)
	perfs, weights := make([]float64, len(list)), make([]float64, len(list))
	var sum, squares float64
	for i, x := range list {
		w := min(1, most/size[x.site])
		perfs[i], weights[i] = x.perf, w
		sum, squares = sum+w, squares+w*w
	}
	if sum == float64(len(list)) {
		return stat.Sorted(perfs, q)
	}
	return stat.Weighted(perfs, stat.Running(weights), sum*sum/squares, q)
}

// siteText prints the site of a prefix as the network that it is.
func siteText(p record.Prefix) string {
	n, bits := p.Netip().Addr(), 48
	if n.Is4() {
		bits = 20
	}
	return netip.PrefixFrom(n, bits).Masked().String()
}
