package scenario

func (c *Cell) checkFlows(v *checker) {
	v.want(len(c.Flows) >= 1 && len(c.Flows) <= maxFlows, "flows", len(c.Flows), "out of bounds; write 1 to %d flows", maxFlows)
	seen := map[string]bool{}
	for i := range c.Flows {
		f := &c.Flows[i]
		v.want(!seen[f.Name], "flows", f.Name, "two flows of this name; name each")
		seen[f.Name] = true
		f.check(v, c)
	}
}

func (f *Flow) check(v *checker, c *Cell) {
	field := func(key string) string { return "flows." + f.Name + "." + key }
	v.want(word.MatchString(f.Name), field("name"), f.Name, "not a name")
	v.want(cong.MatchString(f.Cong), field("cong"), f.Cong, "not a congestion control's name; write one as in bbr or cubic")
	v.want(f.Bytes > 0 || f.DurationUs > 0, field("size"), "", "neither size nor duration; write one or both, as in size: 64MB")
	v.want(f.Bytes <= maxSize && f.DurationUs <= maxTimeUs, field("size"), f.Bytes, "too large; at most 1000GB and a day")
	end, _ := f.endUs()
	v.want(end < c.LimitUs, field("start"), f.StartUs, "this flow ends after measure.limit of %d us; write a later limit", c.LimitUs)
	v.want(f.RateBitPerS == 0 || f.RateBitPerS >= minRate && f.RateBitPerS <= maxRate, field("app_rate"), f.RateBitPerS, "out of bounds; write %dbit or more", minRate)
	v.want(f.Repeat >= 0 && f.Repeat <= maxRepeat, field("repeat"), f.Repeat, "out of bounds; at most %d", maxRepeat)
	v.want(f.Repeat <= 1 || f.Bytes > 0, field("repeat"), f.Repeat, "connections without a size never end; write size")
	v.want(f.GapUs == 0 || f.Repeat > 1, field("gap"), f.GapUs, "nothing comes after it; write repeat, or remove it")
	v.want(f.GapUs <= maxTimeUs, field("gap"), f.GapUs, "too long; at most a day")
}

func (c *Cell) checkMeasure(v *checker) {
	v.within("measure.limit", c.LimitUs, 1_000_000, maxTimeUs, "us")
	v.want(c.SampleUs >= 100 && c.SampleUs <= c.LimitUs, "measure.sample", c.SampleUs, "out of bounds; write 100us to the limit")
	v.want(c.ProbeUs == 0 || c.ProbeUs >= 100 && c.ProbeUs <= c.LimitUs, "measure.probe", c.ProbeUs, "out of bounds; write 100us to the limit, or none")
	v.want(c.WarmUpUs < c.LimitUs, "measure.warm_up", c.WarmUpUs, "not before the limit; write less")
	// Only where each flow has a duration: the others' ends are guesses.
	end, known := c.lastEnd()
	v.want(!known || c.WarmUpUs < end, "measure.warm_up", c.WarmUpUs, "nothing is left to measure after it; write less than the flows' %d us", end)
}
