package published

import "github.com/congctl/congctl/internal/core/scenario"

// Why a published value is not what the models, or the lab, give. Each text stands on
// facts of the article; where it is a guess it says so.

type residual struct{ table, key, cong string }

// why ours differs. Where a cell loses super-packets too, what sets it apart from the
// article is no longer that, but that TCP of today paces BBR, unless it is kept from it.
func (t *Table) why(c *scenario.Cell, key, cong string) string {
	text := residuals[residual{t.Name, key, cong}]
	switch alike := c.Sender.SuperPackets && c.Path.Loss.At == scenario.LossSender; {
	case alike && cong == bbr && !c.Unpaced(bbr):
		return pacedHere
	case alike && (text == trains || cong == bbr):
		return ""
	}
	return text
}

const (
	unpaced = "netem as the root qdisc had displaced fq, and 4.9 does not pace inside TCP: BBR ran unpaced"
	trains  = "loss was drawn for each super-packet of up to 45 packets, so that CUBIC saw a small part of the losses that the rate stands for"
	// pacedHere: tcp_bbr.c asks for it since 4.13, and netem does not say that it paces.
	pacedHere = "BBR of 4.9 was not paced there; since Linux 4.13 TCP paces it itself where fq does not"
	window    = "one window of about 2.25 MB in each round trip (22.62 MB/s x 99 ms, 9.81 MB/s x 231 ms): " +
		"a limit of the hosts, the Windows client's window or the server's 4 MiB of tcp_wmem, and not of the path"
	device  = "6 to 7 % below what the device asks for: it sends at a fixed rate and does not catch up what a stall cost (a guess)"
	profile = "an attenuator lowers the rate and adds delay as well; the calibration puts all of it into loss, which BBR hardly feels"
)

var residuals = map[residual]string{
	{"loss-sweep.csv", "0", cubic}: "the first run of the article, slower than CUBIC with 0.1 % of loss: " +
		"the file was probably not in memory yet",
	{"loss-sweep.csv", "0.1", cubic}: trains,
	{"loss-sweep.csv", "1", cubic}:   trains,
	{"loss-sweep.csv", "2", cubic}:   trains,
	{"loss-sweep.csv", "4", cubic}:   trains,
	{"loss-sweep.csv", "8", cubic}:   trains,
	{"loss-sweep.csv", "16", cubic}:  trains,
	{"loss-sweep.csv", "2", bbr}:     unpaced,
	{"loss-sweep.csv", "4", bbr}:     unpaced,
	{"loss-sweep.csv", "8", bbr}:     unpaced,
	{"loss-sweep.csv", "16", bbr}: unpaced + ", and lost trains are too few in an interval for its policer detector, " +
		"which 16 % of single packets can trip",

	{"rtt-sweep.csv", "tokyo", bbr}: "less than the gigabit of the line's class: the home line or the client " +
		"carried 524 Mbit/s (a guess; BBR came nearest to the link here)",
	{"rtt-sweep.csv", "seattle", bbr}: window,
	{"rtt-sweep.csv", "paris", bbr}:   window,

	{"iot-uplink.csv", "lte_att_0dB", bbr}: "BBR paces 1 % below what it measured and pauses for PROBE_RTT; " +
		"the rest of the 6 % is one cell of a mobile network at another minute",
	{"iot-uplink.csv", "lte_att_10dB", bbr}: profile,
	{"iot-uplink.csv", "lte_att_20dB", bbr}: profile,
	{"iot-uplink.csv", "lan_loss_0", bbr}:   "2 % less than CUBIC: a tie",
	{"iot-uplink.csv", "lan_loss_4", bbr}:   device,
	{"iot-uplink.csv", "lan_loss_8", bbr}:   device,

	{"tbf-shaping.csv", "tbf_with_tso_gso_on", cubic}: "the kernel of 2014 dropped super-packets that were larger than " +
		"the bucket; since Linux 3.13 tbf cuts them into packets first",
}
