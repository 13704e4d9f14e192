package advise

// Metrics judges what the kernel keeps of a connection for the next one to the same
// address, from the values of net.ipv4.tcp_no_metrics_save and
// tcp_no_ssthresh_metrics_save; the second is "" before Linux 5.6, which always keeps the
// threshold. Round trip and reordering only start the retransmission timer and loss
// detection. Slow start's threshold decides how fast the next connection begins
// (Linux 65e6d90168f3, Documentation/networking/ip-sysctl.rst).
func Metrics(noMetrics, noThreshold string) Finding {
	switch {
	case noMetrics == "1":
		return ok("nothing is remembered of past connections (%s=1)", short(KeyMetrics))
	case noThreshold == "1":
		return ok("round trip and reordering of past connections are remembered for each address (%s=0), "+
			"slow start's threshold is not: no harm to BBR or to the experiment", short(KeyMetrics))
	}
	return warn("slow start's threshold of past connections is remembered for each address (%s=0, and %s is not 1)",
		short(KeyMetrics), short(KeyThreshold)).
		because("after a loss the next connection to the address leaves slow start too early, and one arm of the experiment starts with the threshold of the other").
		fix("sudo sysctl -w "+KeyMetrics+"=1 && sudo ip tcp_metrics flush", "sudo sysctl -w "+KeyMetrics+"=0")
}
