package stat

// Jain returns the fairness index of shares: 1 if all are equal, 1/n if one has everything.
//
//	J = (sum x)^2 / (n sum x^2)
//
// Source: Jain, Chiu and Hawe, DEC-TR-301 (1984). 1 if all are 0.
func Jain(x []float64) float64 {
	var sum, squares float64
	for _, v := range x {
		sum += v
		squares += v * v
	}
	if squares == 0 {
		return 1
	}
	return sum * sum / (float64(len(x)) * squares)
}
