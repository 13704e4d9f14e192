package effect

import (
	"cmp"
	"math"
	"slices"
)

// e-BH: which of many hypotheses to reject so that at most a share alpha of the
// rejected is false, on average, however they depend on each other. Of K evidences in
// descending order take the first k, with the largest k for which
//
//	E(k) >= K / (alpha k)
//
// Source: Wang and Ramdas, "False Discovery Rate Control with E-values", JRSS B 84 (2022).

// EBH reports for each ln of evidence whether its hypothesis is rejected. NaN never is.
func EBH(logE []float64, alpha float64) []bool {
	order := make([]int, len(logE))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(logE[b], logE[a]) })
	rejected := make([]bool, len(logE))
	for k := len(order); k > 0; k-- {
		if logE[order[k-1]] >= math.Log(float64(len(order))/(alpha*float64(k))) {
			for _, i := range order[:k] {
				rejected[i] = true
			}
			break
		}
	}
	return rejected
}
