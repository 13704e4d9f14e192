package clickhouse

import (
	"fmt"
	"slices"
	"strings"

	"github.com/congctl/congctl/internal/tcp/record"
)

// View windows: one row for each PoP, window, network, arm, congestion control, carry-over, control and
// cap, with the columns of SQLite's table windows under the same names, in the same units, from the
// records as they are now, each once. Nothing here decides by it; it is for people and dashboards.
//
// It computes what loop/window computes, by the same operations in the same order, so that figures agree
// to the last digit: quantiles of type 7 (of connections that weigh the same as quantileExactInclusive
// has it, but that rounds otherwise), weights of thinned records, and no client above its share
// (loop/window/client.go has the equation). It is arrays throughout, which 18.16 has too.
//
// What it cannot have, since the plan lies in the controller's store: which records are of the wash-out,
// so that they count in shares here, and control where a network is treated now. Nor has it a row's cap of
// 4,096 samples. It takes the default of treatment.min_bytes, and networks without an eligible connection have rows, too. Means
// and variances of logarithms agree to 12 digits: ClickHouse's log is not Go's.

// viewEligible is treatment.min_bytes by default.
const viewEligible = 100_000

// createWindows returns the statements, from the inside out. A level names what the next one uses, and uses no
// name of its own; each is a view, windows_1 and on, and the last windows. Names and nested statements would be put into each
// other, and servers would look into each of them again and again. What a current server takes to plan a query grows with
// the levels times all their columns, since it merges the levels one by one: so the figures of all clients, shares,
// metrics and quantiles are arrays, a dozen levels of a few columns.
func createWindows() (list []string) {
	q := "SELECT " + viewColumns + ", " + viewRecords + " FROM " + records + " FINAL WHERE client_facing = 1 AND assigned != 5 AND applied != 11 AND " +
		"bitAnd(prefix, 255) = if(prefix < 4294967296, 24, 56)"
	q = "SELECT " + viewKey + ", number, n, big, counts, mean, late, " + viewRecord + " FROM (" + q + ")"
	q = "SELECT " + viewKey + ", number, " + viewClients + " FROM (" + q + ") GROUP BY " + viewKey + ", number"
	q = "SELECT *, arrayMap((s, own, late) -> (s.1, s.2, s.3, s.4, s.5, s.6, own, late), list, " + same("own", "list") + ", " + same("own_late", "list") + ") AS owned FROM (" + q + ")"
	q = "SELECT " + viewKey + ", " + viewRows + " FROM (" + q + ") GROUP BY " + viewKey
	for _, level := range viewLevels() {
		name := fmt.Sprint("windows_", len(list)+1)
		list = append(list, "CREATE VIEW IF NOT EXISTS "+name+" AS "+q)
		q = "SELECT *, " + level + " FROM " + name
	}
	name := fmt.Sprint("windows_", len(list)+1)
	return append(list, "CREATE VIEW IF NOT EXISTS "+name+" AS "+q, "CREATE VIEW IF NOT EXISTS windows AS SELECT "+viewFigures+" FROM "+name)
}

// dropWindows drops the view and its levels, of which version 4 of the schema had 29.
func dropWindows() []string {
	list := []string{"DROP TABLE IF EXISTS windows"}
	for i := 29; i > 0; i-- {
		list = append(list, fmt.Sprint("DROP TABLE IF EXISTS windows_", i))
	}
	return list
}

const viewKey = "pop, start, net, arm, cong, carryover, control, capped"

// viewColumns are those of a record that count here, also those that * leaves out.
const viewColumns = `pop, cong, carryover, capped, rate_bytes_per_s, info_min_rtt_us, info_rtt_us, win_bytes_acked, win_bytes_sent, win_bytes_retrans,
win_busy_us, win_rwnd_limited_us, win_elapsed_us, win_limited_samples, win_rate_samples, win_episodes,
win_counted_bytes_acked, win_counted_bytes_sent, win_counted_bytes_retrans, win_counted_busy_us`

// A record: n is what it stands for, number its client's in its network.
var viewRecords = fmt.Sprintf(`window AS start, prefix AS net, assigned AS arm,
toUInt8(default_cong = 1 AND carryover = 0 AND assigned != 1) AS control,
toUInt64(if(weight > 1, least(weight, 1024.) + 0.5, 1.)) AS n,
toUInt8(if(client > 0, client - 1, reinterpretAsUInt8(substring(remote, if(prefix < 4294967296, length(remote), 8), 1)))) AS number,
win_bytes_acked >= %[1]d AS big, win_bytes_acked >= %[1]d AND passive = 1 AND rate_source != 0 AS counts, rate_source = 1 AS mean,
if(win_late_samples >= 3 AND late_bytes_per_s > 0, late_bytes_per_s, 0.) AS late`, viewEligible)

// viewRecord has the values as a sample keeps them.
var viewRecord = fmt.Sprintf(`(toFloat64(toFloat32(rate_bytes_per_s)),
toFloat64(toFloat32(if(mean AND win_counted_bytes_acked >= %d AND win_counted_busy_us > 0, toFloat64(win_counted_bytes_acked) / (toFloat64(win_counted_busy_us) / 1e6), 0.))),
toFloat64(info_min_rtt_us), toFloat64(info_rtt_us), toFloat64(toFloat32(late)), toFloat64(n)) AS sample,
n * win_bytes_acked AS acked, n * win_bytes_sent AS sent, n * win_bytes_retrans AS retrans, n * win_busy_us AS busy,
n * win_rwnd_limited_us AS rwnd, n * win_elapsed_us AS elapsed, n * win_limited_samples AS limited,
n * win_limited_samples + n * win_rate_samples AS sampled, n * win_episodes AS loss,
n * if(mean, win_counted_bytes_sent, win_bytes_sent) AS esent, n * if(mean, win_counted_bytes_retrans, win_bytes_retrans) AS eretrans`, record.LeastGoodputBytes)

// viewCounters are what shares are of.
var viewCounters = []string{"sent", "retrans", "busy", "rwnd", "elapsed", "limited", "sampled"}

// viewShares are shares: part, whole. They are numbered from 1 in arrays.
var viewShares = [][2]string{{"retrans", "sent"}, {"rwnd", "busy"}, {"busy", "elapsed"}, {"limited", "sampled"}}

// viewClients are a client's sums in a row: over those that reached the threshold, and over all.
var viewClients = func() string {
	list := []string{
		"sum(n) AS c_conns, sum(acked) AS c_bytes, max(big) AS c_big, countIf(counts) AS c_eligible, countIf(counts AND mean) AS c_means, countIf(counts AND late > 0) AS c_lates",
		"sumIf(esent, counts) AS c_esent, sumIf(eretrans, counts) AS c_eretrans, sumIf(loss, counts) AS c_loss",
		"groupArrayIf(sample, counts) AS list, toFloat64(sumIf(n, counts)) AS own, toFloat64(sumIf(n, counts AND toFloat32(late) > 0)) AS own_late",
	}
	for _, c := range viewCounters {
		list = append(list, fmt.Sprintf("sumIf(%[1]s, big) AS big_%[1]s, sum(%[1]s) AS all_%[1]s", c))
	}
	return strings.Join(list, ",\n")
}()

// viewRows are a row's sums, its samples, and its clients in order: number, their sizes, their big sums.
var viewRows = func() string {
	list := []string{
		"toUInt32(least(sum(c_conns), 4294967295)) AS conns, sum(c_bytes) AS bytes, max(c_big) AS has_big",
		"toUInt32(sum(c_eligible)) AS n_eligible, toUInt32(sum(c_means)) AS n_means, toUInt32(sum(c_lates)) AS n_lates",
		"sum(c_esent) AS eligible_sent_bytes, sum(c_eretrans) AS eligible_retrans_bytes, sum(c_loss) AS episodes",
		"groupArrayArray(owned) AS samples, groupArray(own) AS owns, groupArray(own_late) AS owns_late",
	}
	var sums []string
	for _, c := range viewCounters {
		list = append(list, fmt.Sprintf("sum(all_%[1]s) AS row_%[1]s", c))
		sums = append(sums, "big_"+c)
	}
	return strings.Join(append(list, "arraySort(groupArray((number, "+strings.Join(sums, ", ")+"))) AS clients"), ",\n")
}()

// same is a value as often as a list has elements. Versions that do not look into functions for the columns
// that they need would not find it there by itself.
func same(value, list string) string {
	return fmt.Sprintf("arrayResize([%[1]s], length(%[2]s), %[1]s)", value, list)
}

// shareLists are of each share the clients' parts, or their wholes.
func shareLists(which int) string {
	var list []string
	for _, s := range viewShares {
		at := slices.Index(viewCounters, s[which]) + 2
		list = append(list, fmt.Sprintf("if(has_big, arrayMap(c -> toFloat64(c.%d), clients), [toFloat64(row_%s)])", at, s[which]))
	}
	return "[" + strings.Join(list, ",\n") + "]"
}

// sampleLists are of each metric its known values, their weights and what they stand for, sorted: rate, goodput, RTT,
// smoothed RTT, late rate. A metric is a place in a sample, with the place of its client's own number there, and which number is
// the most that a client may weigh.
func sampleLists() string {
	var list []string
	for _, m := range []struct{ at, own, most int }{{1, 7, 1}, {2, 7, 1}, {3, 7, 1}, {4, 7, 1}, {5, 8, 2}} {
		list = append(list, fmt.Sprintf("arraySort(arrayFilter(c -> c.1 > 0 AND c.1 != 4294967295, "+
			"arrayMap((s, most) -> (s.%[1]d, s.6 * if(s.%[2]d > 1, least(1., most / s.%[2]d), 1.), s.6), samples, %[3]s)))",
			m.at, m.own, same(fmt.Sprintf("most[%d]", m.most), "samples")))
	}
	return "[" + strings.Join(list, ",\n") + "]"
}

// viewQuantiles are what to take of each metric.
const viewQuantiles = "[[0.05, 0.1, 0.2, 0.5, 0.8], [], [0.5], [0.5], [0.5, 0.95]]"

// viewLevels compute the figures of a row. Each is an array: of sizes to bound (own, late, and each share's wholes), of shares, of metrics, or
// of their quantiles.
func viewLevels() []string {
	return []string{
		shareLists(0) + " AS parts, " + shareLists(1) + " AS wholes, " + `[n_eligible, n_means, n_lates] AS counts,
[arrayMap(s -> s.6, samples), arrayMap(s -> s.6, arrayFilter(s -> s.2 > 0, samples)), arrayMap(s -> s.6, arrayFilter(s -> s.5 > 0, samples))] AS known`,

		`arrayMap(l -> arrayReverseSort(arrayFilter(v -> v > 0, l)), arrayConcat([owns, owns_late], wholes)) AS sizes,
arrayMap(l -> arraySum(l), known) AS stand, arrayMap(l -> arraySum(arrayMap(w -> w * w, l)), known) AS square`,

		// stat.MostOf; row.worth of loop/window
		`arrayMap((l, c, total) -> arrayMap((s, run, i) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), l, arrayCumSum(l), arrayEnumerate(l)),
sizes, arrayMap(l -> greatest(1. / 3., 1. / length(l)), sizes), arrayMap(l -> arraySum(l), sizes)) AS cuts,
arrayMap((n, len, sum, square) -> toUInt32(if(len * square = sum * sum, toFloat64(n), greatest(1., floor(toFloat64(n) * sum * sum / (len * square) + 0.5)))),
counts, arrayMap(l -> toFloat64(length(l)), known), stand, square) AS worth`,

		`arrayMap((l, c, first) -> if(first = 0, l[-1], c[first]), sizes, cuts, arrayMap((l, c) -> arrayFirstIndex((s, cut) -> s <= cut, l, c), sizes, cuts)) AS most`,

		// Parts are added up in order: a sum of floats depends on it.
		`arrayMap((part, whole, most) -> arraySort(p -> (p.2, p.1), arrayFilter(p -> p.2 > 0, arrayMap((p, w) -> (if(w > most, p * (most / w), p), least(w, most)), part, whole))),
parts, wholes, arraySlice(most, 3)) AS bounded,
` + sampleLists() + ` AS cols`,

		`arrayMap(b -> arrayCumSum(arrayMap(p -> p.1, b))[-1], bounded) AS part, arrayMap(b -> arrayCumSum(arrayMap(p -> p.2, b))[-1], bounded) AS whole,
arrayMap(c -> arrayMap(x -> x.1, c), cols) AS vals, arrayMap(c -> arrayMap(x -> x.3, c), cols) AS times,
arrayMap(c -> arrayCumSum(arrayMap(x -> x.2, c)), cols) AS running, arrayMap(c -> arrayCumSum(arrayMap(x -> x.2 * x.2, c))[-1], cols) AS squares`,

		`arrayMap((p, w) -> if(w > 0, least(p / w, 1.), 0.), part, whole) AS shares,
arrayMap((b, part, whole) -> arrayMap(p -> if(whole - p.2 > 0, least(greatest(0., part - p.1) / (whole - p.2), 1.), 0.), b), bounded, part, whole) AS without,
arrayMap(r -> r[-1], running) AS total, arrayMap(t -> arraySum(t), times) AS stands, arrayMap(v -> toFloat64(length(v)), vals) AS len, arrayMap(t -> arrayUniq(t) > 1, times) AS mixed`,

		`arrayMap((total, squares) -> greatest(total * total / squares, 1.), total, squares) AS equals,
arrayMap((mixed, total, stands) -> mixed OR total < stands, mixed, total, stands) AS uneven,
arrayMap(l -> arrayMap(v -> log(v), l), arraySlice(vals, 1, 2)) AS logs,
arrayMap((t, stands, len, mixed) -> arrayMap(x -> if(mixed, x / stands, 1. / len), t), arraySlice(times, 1, 2), arraySlice(stands, 1, 2), arraySlice(len, 1, 2), arraySlice(mixed, 1, 2)) AS evenly`,

		`arrayMap((l, w) -> arraySum(arrayMap((v, w) -> v * w, l, w)), logs, evenly) AS means,
arrayMap((list, total, equals) -> arrayMap(q -> q * (equals - 1.) / equals * total, list), ` + viewQuantiles + `, total, equals) AS lows`,

		`arrayMap((l, w, mean) -> arraySum(arrayMap((v, w) -> (v - mean) * (v - mean) * w, l, w)), logs, evenly, means) AS vars,
arrayMap((lows, vals, running, total, equals) -> arrayMap(low -> arrayFilter(p -> p.1 > 1e-12 * total,
arrayMap((s, was, v) -> (least(low + total / equals, s) - greatest(low, was), v), running, arrayPopBack(arrayPushFront(running, 0.)), vals)), lows), lows, vals, running, total, equals) AS taken`,

		// stat.Sorted, or of uneven weights stat.Weighted
		`arrayMap((list, taken, vals, len, uneven) -> arrayMap((at, i, p) -> multiIf(len = 0, 0.,
uneven, least(greatest(arrayCumSum(arrayMap(x -> x.1 * x.2, p))[-1] / arrayCumSum(arrayMap(x -> x.1, p))[-1], arrayMap(x -> x.2, p)[1]), arrayMap(x -> x.2, p)[-1]),
at = i - 1 OR vals[i] = vals[i + 1], vals[i],
at - (i - 1) < 0.5, vals[i] + (vals[i + 1] - vals[i]) * (at - (i - 1)), vals[i + 1] - (vals[i + 1] - vals[i]) * (1. - (at - (i - 1)))),
arrayMap(q -> q * (len - 1.), list), arrayMap(q -> toInt64(floor(q * (len - 1.))) + 1, list), taken), ` + viewQuantiles + `, taken, vals, len, uneven) AS quantiles`,
	}
}

// viewFigures are the columns of the view, in the order of SQLite's.
const viewFigures = `pop, start, toInt64(net) AS prefix, arm, cong, carryover, control, conns, worth[1] AS eligible,
least(worth[2], worth[1]) AS rate_means, bytes,
quantiles[1][1] AS rate_p05_bytes_per_s, quantiles[1][2] AS rate_p10_bytes_per_s, quantiles[1][3] AS rate_p20_bytes_per_s,
quantiles[1][4] AS rate_p50_bytes_per_s, quantiles[1][5] AS rate_p80_bytes_per_s, quantiles[3][1] AS min_rtt_us, quantiles[4][1] AS srtt_us,
shares[1] AS retrans_share,
if(length(bounded[2]) < 3, shares[2], arrayReduce('min', arrayPushBack(without[2], shares[2]))) AS rwnd_share,
if(length(bounded[3]) < 3, shares[3], arrayReduce('max', arrayPushBack(without[3], shares[3]))) AS busy_share,
shares[4] AS app_limited_share, means[1] AS log_rate_mean, vars[1] AS log_rate_var, eligible_sent_bytes, eligible_retrans_bytes, capped,
means[2] AS log_goodput_mean, vars[2] AS log_goodput_var, episodes, if(len[5] = 0, toUInt32(0), least(worth[3], worth[1])) AS late_conns,
quantiles[5][1] AS late_p50_bytes_per_s, quantiles[5][2] AS late_p95_bytes_per_s`
