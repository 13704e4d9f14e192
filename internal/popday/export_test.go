package popday

// EffectsOf is what Build says of the blocks alone: a tenth of its time.
func EffectsOf(in *Input) []Effect {
	t := newTable(in, func(*Run) bool { return true })
	return newBlocks(in, t, loopPolicy).effects(mixOf(in), map[int]int{})
}

// CompareOf is the comparison alone.
func CompareOf(in *Input) Comparison {
	_, out := compare(in, newTable(in, func(*Run) bool { return true }))
	return out
}
