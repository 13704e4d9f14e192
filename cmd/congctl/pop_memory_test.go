package main

import (
	"strings"
	"testing"
)

// TestMachinesFitTheMemory: asked for in so many words they are refused where memory does
// not do, and else fewer are run.
func TestMachinesFitTheMemory(t *testing.T) {
	const tooLarge = 1 << 30 // MB: a petabyte
	for _, jobs := range []int{0, 2} {
		p := labPlace{jobs: jobs}
		if _, err := p.inMemory([]int{0, 1}, tooLarge); err == nil || !strings.Contains(err.Error(), "--cpus") {
			t.Errorf("%d jobs: %v", jobs, err)
		}
		if cpus, err := p.inMemory([]int{0, 1}, 1); len(cpus) != 2 || err != nil {
			t.Errorf("%d jobs: %v, %v", jobs, cpus, err)
		}
	}
}
