package plot

import "slices"

// CDF is the share of values that are at most x, as points for a step line. At most n
// of them: beyond that each n-th of the sorted values stands for those before it.
func CDF(values []float64, n int) []Point {
	x := slices.Sorted(slices.Values(values))
	if len(x) == 0 {
		return nil
	}
	n = min(n, len(x))
	out := []Point{{x[0], 0}}
	for i := 1; i <= n; i++ {
		k := i * len(x) / n
		out = append(out, Point{x[k-1], float64(k) / float64(len(x))})
	}
	return out
}

// Thin keeps the lowest and the highest point of each of n slices of X, in their order:
// unlike a mean it hides no spike, unlike each n-th point it misses none.
func Thin(points []Point, n int) []Point {
	if len(points) <= 2*n {
		return points
	}
	lo, hi := points[0].X, points[len(points)-1].X
	var out []Point
	for i := 0; i < len(points); {
		slice := int((points[i].X - lo) / (hi - lo) * float64(n))
		low, high := i, i
		for ; i < len(points) && int((points[i].X-lo)/(hi-lo)*float64(n)) == slice; i++ {
			if points[i].Y < points[low].Y {
				low = i
			}
			if points[i].Y > points[high].Y {
				high = i
			}
		}
		out = append(out, points[min(low, high)])
		if low != high {
			out = append(out, points[max(low, high)])
		}
	}
	return out
}
