package stat

import "math"

// Student's t with df degrees of freedom, by the incomplete beta function:
//
//	P(T <= -|x|) = I(df / (df + x^2); df/2, 1/2) / 2
//
// Source: NIST DLMF 8.17; Abramowitz and Stegun 26.5.27.

// Student returns the distribution function at x; small tails keep their digits.
func Student(x, df float64) float64 {
	lower := beta(df/(df+x*x), df/2, 0.5) / 2
	if x > 0 {
		return 1 - lower
	}
	return lower
}

// StudentQuantile returns the x with Student(x, df) = p, for p in 0..1.
func StudentQuantile(p, df float64) float64 {
	if p > 0.5 {
		return -StudentQuantile(1-p, df)
	}
	b := betaQuantile(2*p, df/2, 0.5)
	return -math.Sqrt(df * (1 - b) / b)
}
