package effects

// MetricsFinding says whether the kernel's memory of destinations can carry one arm's
// doings into the other: at a connection's end it keeps round trip and reordering for
// the client's address, and slow start's threshold where told to, and the address's next
// connection begins with them. nil where it cannot. The values are those of
// net.ipv4.tcp_no_metrics_save and tcp_no_ssthresh_metrics_save ("" before Linux 5.10,
// when the threshold was always kept).
func MetricsFinding(noMetrics, noSsthresh string) *Finding {
	if noMetrics != "0" {
		return nil
	}
	f := &Finding{
		Text: "net.ipv4.tcp_no_metrics_save is 0: the kernel keeps round trip and reordering of each client's last connection and starts " +
			"the next one with them, so a treated connection can change the next control connection",
		Fix: "sysctl -w net.ipv4.tcp_no_metrics_save=1 (undo: =0), and ip tcp_metrics flush",
	}
	if noSsthresh != "1" {
		f.Text = "net.ipv4.tcp_no_metrics_save and tcp_no_ssthresh_metrics_save are off: the kernel keeps slow start's threshold and round trip " +
			"of each client's last connection and starts the next one with them, so a treated connection changes the next control connection"
	}
	return f
}
