//go:build !race

package costtest

// Slower is how much longer computing takes than it does in the product.
const Slower = 1
