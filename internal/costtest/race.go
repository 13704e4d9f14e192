//go:build race

package costtest

// Slower is how much longer the race detector lets computing take: five to ten times.
const Slower = 10
