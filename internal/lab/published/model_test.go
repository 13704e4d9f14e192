package published

import (
	"github.com/congctl/congctl/internal/lab/theory/model"
)

// Calibration. An article reports neither the loss of its paths nor, for its LAN, the round
// trip. What it does not report is fitted to the published CUBIC value with the CUBIC model
// (calibrateLoss), so that BBR's value is a prediction and can be wrong:
//
//	loss-sweep  nothing is fitted: a gigabit, and 1 ms between two hosts of one region
//	rtt-sweep   loss per site; link, round trip and size as published, rates a tenth
//	iot-uplink  LTE: the link's rate at 0 dB, then a loss per attenuation
//	            LAN: the loss is published; one round trip for all five rows
//
// Fitted values are written down here, and a test fits them again.

// calibrated is a row of a table with the network that yields its CUBIC value.
type calibrated struct {
	Table, Key string
	Fitted     string // what was fitted: loss, rate, round trip; "" if nothing was
	Path       model.Path
	Transfer   model.Transfer
	AppBitPerS float64 // of a sender at a constant rate; 0: as fast as it goes
}

const (
	mtu = 1500

	portBitPerS = 1e9
	portRTT     = 0.001
	portBuffer  = 1000 // packets, netem's own limit
	portBytes   = 2e9

	// A tenth of a gigabit, as far as 60 MB or 120 s: what the lab's virtual machine carries.
	siteBitPerS = 100e6
	siteBytes   = 60e6
	siteSeconds = 120

	lossOfTokyo   = 0.0142
	lossOfSeattle = 0.00122
	lossOfParis   = 0.00174

	// The device requests what CUBIC carried without loss, 1126 kB/s.
	deviceBitPerS = 1126 * 8e3
	deviceSeconds = 60

	// LTE: this link carries 674 kB/s of payload; 50 ms and a second of buffer are usual there.
	lteBitPerS = 674 * 8e3 * 1514 / 1448
	lteRTT     = 0.050
	lteBuffer  = 470
	lossAt10dB = 0.0024
	lossAt20dB = 0.0111

	lanBitPerS = 100e6
	lanRTT     = 0.0082
	lanBuffer  = 100
)

// calibrations returns those of all rows whose articles report too little.
func calibrations() (list []calibrated) {
	for _, l := range []struct {
		key  string
		loss float64
	}{{"0", 0}, {"0.1", 0.001}, {"1", 0.01}, {"2", 0.02}, {"4", 0.04}, {"8", 0.08}, {"16", 0.16}} {
		list = append(list, calibrated{Table: "loss-sweep.csv", Key: l.key,
			Path: path(portBitPerS, portRTT, l.loss, portBuffer), Transfer: model.Transfer{Bytes: portBytes}})
	}
	for _, s := range []struct {
		key       string
		rtt, loss float64
	}{{"tokyo", 0.006, lossOfTokyo}, {"seattle", 0.099, lossOfSeattle}, {"paris", 0.231, lossOfParis}} {
		list = append(list, calibrated{Table: "rtt-sweep.csv", Key: s.key, Fitted: "loss",
			Path:     path(siteBitPerS, s.rtt, s.loss, siteBitPerS*s.rtt/8/1514),
			Transfer: model.Transfer{Bytes: siteBytes, Seconds: siteSeconds}})
	}
	device := func(key, fitted string, p model.Path) {
		list = append(list, calibrated{Table: "iot-uplink.csv", Key: key, Fitted: fitted, Path: p,
			Transfer: model.Transfer{Seconds: deviceSeconds}, AppBitPerS: deviceBitPerS})
	}
	device("lte_att_0dB", "rate", path(lteBitPerS, lteRTT, 0, lteBuffer))
	device("lte_att_10dB", "loss", path(lteBitPerS, lteRTT, lossAt10dB, lteBuffer))
	device("lte_att_20dB", "loss", path(lteBitPerS, lteRTT, lossAt20dB, lteBuffer))
	for _, l := range []struct {
		key  string
		loss float64
	}{{"lan_loss_0", 0}, {"lan_loss_1", 0.01}, {"lan_loss_2", 0.02}, {"lan_loss_4", 0.04}, {"lan_loss_8", 0.08}} {
		device(l.key, "round trip", path(lanBitPerS, lanRTT, l.loss, lanBuffer))
	}
	return list
}

func path(bitPerS, rtt, loss, buffer float64) model.Path {
	return model.Path{RateBitPerS: bitPerS, RTTSeconds: rtt, Loss: loss, MTUBytes: mtu, BufferPackets: buffer}
}

// prediction is the models' value for one published value, in its unit.
type prediction struct {
	Table, Key, Cong    string
	Fitted              string // "" for a prediction, else what was fitted to this very value
	Published           float64
	Low, Expected, High float64 // Low and High in the order of the rates
	Ratio               float64 // Published / Expected
	Why                 string  // why the published value differs
}

// predictions returns those of every calibrated row, CUBIC's (which were fitted) and BBR's.
func predictions() (list []prediction) {
	for _, c := range calibrations() {
		list = append(list, c.predict(cubic, model.Cubic), c.predict(bbr, model.BBR))
	}
	return list
}

func (c calibrated) predict(cong string, of func(model.Path, model.Transfer) model.Band) prediction {
	t, _ := Find(c.Table)
	p := prediction{Table: c.Table, Key: c.Key, Cong: cong, Published: t.published(c.Key, cong), Why: residuals()[residual{c.Table, c.Key, cong}].text}
	if cong == cubic {
		p.Fitted = c.Fitted
	}
	b := of(c.Path, c.Transfer)
	p.Low, p.Expected, p.High = c.scaled(t, b.Low), c.scaled(t, b.Expected), c.scaled(t, b.High)
	p.Ratio = p.Published / p.Expected
	return p
}

// scaled returns a model's rate in the table's unit and on the table's link.
func (c calibrated) scaled(t Table, bitPerS float64) float64 {
	if c.AppBitPerS > 0 {
		bitPerS = min(bitPerS, c.AppBitPerS)
	}
	if t.LinkBitPerS > 0 {
		bitPerS *= t.LinkBitPerS / c.Path.RateBitPerS
	}
	return t.Unit.of(bitPerS)
}

func (t *Table) published(key, cong string) float64 {
	for _, r := range t.Rows {
		for _, v := range r.Values {
			if r.Key == key && v.Cong == cong {
				return v.Mid()
			}
		}
	}
	return 0
}

// bitPerS converts a value of a table back to bit/s.
func bitPerS(u Unit, value float64) float64 {
	if u.less {
		return u.of(value)
	}
	return value / u.of(1)
}
