CREATE VIEW IF NOT EXISTS windows_1 AS SELECT pop, start, net, arm, cong, carryover, control, capped, toUInt32(least(sum(c_conns), 4294967295)) AS conns, sum(c_bytes) AS bytes, max(c_big) AS has_big,
toUInt32(sum(c_eligible)) AS n_eligible, toUInt32(sum(c_means)) AS n_means, toUInt32(sum(c_lates)) AS n_lates,
sum(c_esent) AS eligible_sent_bytes, sum(c_eretrans) AS eligible_retrans_bytes, sum(c_loss) AS episodes,
groupArrayArray(owned) AS samples, groupArray(own) AS owns, groupArray(own_late) AS owns_late,
sum(all_sent) AS row_sent,
sum(all_retrans) AS row_retrans,
sum(all_busy) AS row_busy,
sum(all_rwnd) AS row_rwnd,
sum(all_elapsed) AS row_elapsed,
sum(all_limited) AS row_limited,
sum(all_sampled) AS row_sampled,
arraySort(groupArray((number, big_sent, big_retrans, big_busy, big_rwnd, big_elapsed, big_limited, big_sampled))) AS clients FROM (SELECT *, arrayMap((s, own, late) -> (s.1, s.2, s.3, s.4, s.5, s.6, own, late), list, arrayResize([own], length(list), own), arrayResize([own_late], length(list), own_late)) AS owned FROM (SELECT pop, start, net, arm, cong, carryover, control, capped, number, sum(n) AS c_conns, sum(acked) AS c_bytes, max(big) AS c_big, countIf(counts) AS c_eligible, countIf(counts AND mean) AS c_means, countIf(counts AND late > 0) AS c_lates,
sumIf(esent, counts) AS c_esent, sumIf(eretrans, counts) AS c_eretrans, sumIf(loss, counts) AS c_loss,
groupArrayIf(sample, counts) AS list, toFloat64(sumIf(n, counts)) AS own, toFloat64(sumIf(n, counts AND toFloat32(late) > 0)) AS own_late,
sumIf(sent, big) AS big_sent, sum(sent) AS all_sent,
sumIf(retrans, big) AS big_retrans, sum(retrans) AS all_retrans,
sumIf(busy, big) AS big_busy, sum(busy) AS all_busy,
sumIf(rwnd, big) AS big_rwnd, sum(rwnd) AS all_rwnd,
sumIf(elapsed, big) AS big_elapsed, sum(elapsed) AS all_elapsed,
sumIf(limited, big) AS big_limited, sum(limited) AS all_limited,
sumIf(sampled, big) AS big_sampled, sum(sampled) AS all_sampled FROM (SELECT *, (toFloat64(toFloat32(rate_bytes_per_s)),
toFloat64(toFloat32(if(mean AND win_counted_busy_us > 0, toFloat64(win_counted_bytes_acked) / (toFloat64(win_counted_busy_us) / 1e6), 0.))),
toFloat64(info_min_rtt_us), toFloat64(info_rtt_us), toFloat64(toFloat32(late)), toFloat64(n)) AS sample,
n * win_bytes_acked AS acked, n * win_bytes_sent AS sent, n * win_bytes_retrans AS retrans, n * win_busy_us AS busy,
n * win_rwnd_limited_us AS rwnd, n * win_elapsed_us AS elapsed, n * win_limited_samples AS limited,
n * win_limited_samples + n * win_rate_samples AS sampled, n * win_episodes AS loss,
n * if(mean, win_counted_bytes_sent, win_bytes_sent) AS esent, n * if(mean, win_counted_bytes_retrans, win_bytes_retrans) AS eretrans FROM (SELECT *, window AS start, prefix AS net, assigned AS arm,
toUInt8(default_cong = 1 AND carryover = 0 AND assigned != 1) AS control,
toUInt64(if(weight > 1, least(weight, 1024.) + 0.5, 1.)) AS n,
toUInt8(if(client > 0, client - 1, reinterpretAsUInt8(substring(remote, if(prefix < 4294967296, length(remote), 8), 1)))) AS number,
win_bytes_acked >= 100000 AS big, win_bytes_acked >= 100000 AND passive = 1 AND rate_source != 0 AS counts, rate_source = 1 AS mean,
if(win_late_samples >= 3 AND late_bytes_per_s > 0, late_bytes_per_s, 0.) AS late FROM conns FINAL WHERE client_facing = 1 AND assigned != 5 AND applied != 11 AND bitAnd(prefix, 255) = if(prefix < 4294967296, 24, 56))) GROUP BY pop, start, net, arm, cong, carryover, control, capped, number)) GROUP BY pop, start, net, arm, cong, carryover, control, capped;

CREATE VIEW IF NOT EXISTS windows_2 AS SELECT *, if(has_big, arrayMap(c -> toFloat64(c.3), clients), [toFloat64(row_retrans)]) AS list_retrans_retrans,
if(has_big, arrayMap(c -> toFloat64(c.2), clients), [toFloat64(row_sent)]) AS list_retrans_sent,
if(has_big, arrayMap(c -> toFloat64(c.5), clients), [toFloat64(row_rwnd)]) AS list_rwnd_rwnd,
if(has_big, arrayMap(c -> toFloat64(c.4), clients), [toFloat64(row_busy)]) AS list_rwnd_busy,
if(has_big, arrayMap(c -> toFloat64(c.4), clients), [toFloat64(row_busy)]) AS list_busy_busy,
if(has_big, arrayMap(c -> toFloat64(c.6), clients), [toFloat64(row_elapsed)]) AS list_busy_elapsed,
if(has_big, arrayMap(c -> toFloat64(c.7), clients), [toFloat64(row_limited)]) AS list_limited_limited,
if(has_big, arrayMap(c -> toFloat64(c.8), clients), [toFloat64(row_sampled)]) AS list_limited_sampled FROM windows_1;

CREATE VIEW IF NOT EXISTS windows_3 AS SELECT *, arrayReverseSort(arrayFilter(v -> v > 0, owns)) AS sizes_own,
arrayReverseSort(arrayFilter(v -> v > 0, owns_late)) AS sizes_late,
arrayReverseSort(arrayFilter(v -> v > 0, list_retrans_sent)) AS sizes_retrans,
arrayReverseSort(arrayFilter(v -> v > 0, list_rwnd_busy)) AS sizes_rwnd,
arrayReverseSort(arrayFilter(v -> v > 0, list_busy_elapsed)) AS sizes_busy,
arrayReverseSort(arrayFilter(v -> v > 0, list_limited_sampled)) AS sizes_limited FROM windows_2;

CREATE VIEW IF NOT EXISTS windows_4 AS SELECT *, greatest(1. / 3., 1. / length(sizes_own)) AS c_own, arrayCumSum(sizes_own) AS run_own, arraySum(sizes_own) AS total_own,
greatest(1. / 3., 1. / length(sizes_late)) AS c_late, arrayCumSum(sizes_late) AS run_late, arraySum(sizes_late) AS total_late,
greatest(1. / 3., 1. / length(sizes_retrans)) AS c_retrans, arrayCumSum(sizes_retrans) AS run_retrans, arraySum(sizes_retrans) AS total_retrans,
greatest(1. / 3., 1. / length(sizes_rwnd)) AS c_rwnd, arrayCumSum(sizes_rwnd) AS run_rwnd, arraySum(sizes_rwnd) AS total_rwnd,
greatest(1. / 3., 1. / length(sizes_busy)) AS c_busy, arrayCumSum(sizes_busy) AS run_busy, arraySum(sizes_busy) AS total_busy,
greatest(1. / 3., 1. / length(sizes_limited)) AS c_limited, arrayCumSum(sizes_limited) AS run_limited, arraySum(sizes_limited) AS total_limited FROM windows_3;

CREATE VIEW IF NOT EXISTS windows_5 AS SELECT *, arrayMap((s, run, i, c, total) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), sizes_own, run_own, arrayEnumerate(sizes_own), arrayResize([c_own], length(sizes_own), c_own), arrayResize([total_own], length(sizes_own), total_own)) AS cuts_own,
arrayMap((s, run, i, c, total) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), sizes_late, run_late, arrayEnumerate(sizes_late), arrayResize([c_late], length(sizes_late), c_late), arrayResize([total_late], length(sizes_late), total_late)) AS cuts_late,
arrayMap((s, run, i, c, total) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), sizes_retrans, run_retrans, arrayEnumerate(sizes_retrans), arrayResize([c_retrans], length(sizes_retrans), c_retrans), arrayResize([total_retrans], length(sizes_retrans), total_retrans)) AS cuts_retrans,
arrayMap((s, run, i, c, total) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), sizes_rwnd, run_rwnd, arrayEnumerate(sizes_rwnd), arrayResize([c_rwnd], length(sizes_rwnd), c_rwnd), arrayResize([total_rwnd], length(sizes_rwnd), total_rwnd)) AS cuts_rwnd,
arrayMap((s, run, i, c, total) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), sizes_busy, run_busy, arrayEnumerate(sizes_busy), arrayResize([c_busy], length(sizes_busy), c_busy), arrayResize([total_busy], length(sizes_busy), total_busy)) AS cuts_busy,
arrayMap((s, run, i, c, total) -> c * (total - (run - s)) / (1. - toFloat64(i - 1) * c), sizes_limited, run_limited, arrayEnumerate(sizes_limited), arrayResize([c_limited], length(sizes_limited), c_limited), arrayResize([total_limited], length(sizes_limited), total_limited)) AS cuts_limited FROM windows_4;

CREATE VIEW IF NOT EXISTS windows_6 AS SELECT *, arrayFirstIndex((s, cut) -> s <= cut, sizes_own, cuts_own) AS first_own,
arrayFirstIndex((s, cut) -> s <= cut, sizes_late, cuts_late) AS first_late,
arrayFirstIndex((s, cut) -> s <= cut, sizes_retrans, cuts_retrans) AS first_retrans,
arrayFirstIndex((s, cut) -> s <= cut, sizes_rwnd, cuts_rwnd) AS first_rwnd,
arrayFirstIndex((s, cut) -> s <= cut, sizes_busy, cuts_busy) AS first_busy,
arrayFirstIndex((s, cut) -> s <= cut, sizes_limited, cuts_limited) AS first_limited FROM windows_5;

CREATE VIEW IF NOT EXISTS windows_7 AS SELECT *, if(first_own = 0, sizes_own[-1], cuts_own[first_own]) AS most_own,
if(first_late = 0, sizes_late[-1], cuts_late[first_late]) AS most_late,
if(first_retrans = 0, sizes_retrans[-1], cuts_retrans[first_retrans]) AS most_retrans,
if(first_rwnd = 0, sizes_rwnd[-1], cuts_rwnd[first_rwnd]) AS most_rwnd,
if(first_busy = 0, sizes_busy[-1], cuts_busy[first_busy]) AS most_busy,
if(first_limited = 0, sizes_limited[-1], cuts_limited[first_limited]) AS most_limited FROM windows_6;

CREATE VIEW IF NOT EXISTS windows_8 AS SELECT *, arrayMap((p, w, most) -> (if(w > most, p * (most / w), p), least(w, most)), list_retrans_retrans, list_retrans_sent, arrayResize([most_retrans], length(list_retrans_retrans), most_retrans)) AS all_parts_retrans,
arrayMap((p, w, most) -> (if(w > most, p * (most / w), p), least(w, most)), list_rwnd_rwnd, list_rwnd_busy, arrayResize([most_rwnd], length(list_rwnd_rwnd), most_rwnd)) AS all_parts_rwnd,
arrayMap((p, w, most) -> (if(w > most, p * (most / w), p), least(w, most)), list_busy_busy, list_busy_elapsed, arrayResize([most_busy], length(list_busy_busy), most_busy)) AS all_parts_busy,
arrayMap((p, w, most) -> (if(w > most, p * (most / w), p), least(w, most)), list_limited_limited, list_limited_sampled, arrayResize([most_limited], length(list_limited_limited), most_limited)) AS all_parts_limited FROM windows_7;

CREATE VIEW IF NOT EXISTS windows_9 AS SELECT *, arraySort(p -> (p.2, p.1), arrayFilter(p -> p.2 > 0, all_parts_retrans)) AS parts_retrans,
arraySort(p -> (p.2, p.1), arrayFilter(p -> p.2 > 0, all_parts_rwnd)) AS parts_rwnd,
arraySort(p -> (p.2, p.1), arrayFilter(p -> p.2 > 0, all_parts_busy)) AS parts_busy,
arraySort(p -> (p.2, p.1), arrayFilter(p -> p.2 > 0, all_parts_limited)) AS parts_limited FROM windows_8;

CREATE VIEW IF NOT EXISTS windows_10 AS SELECT *, arrayCumSum(arrayMap(p -> p.1, parts_retrans))[-1] AS part_retrans, arrayCumSum(arrayMap(p -> p.2, parts_retrans))[-1] AS whole_retrans,
arrayCumSum(arrayMap(p -> p.1, parts_rwnd))[-1] AS part_rwnd, arrayCumSum(arrayMap(p -> p.2, parts_rwnd))[-1] AS whole_rwnd,
arrayCumSum(arrayMap(p -> p.1, parts_busy))[-1] AS part_busy, arrayCumSum(arrayMap(p -> p.2, parts_busy))[-1] AS whole_busy,
arrayCumSum(arrayMap(p -> p.1, parts_limited))[-1] AS part_limited, arrayCumSum(arrayMap(p -> p.2, parts_limited))[-1] AS whole_limited FROM windows_9;

CREATE VIEW IF NOT EXISTS windows_11 AS SELECT *, if(whole_retrans > 0, least(part_retrans / whole_retrans, 1.), 0.) AS share_retrans, arrayMap((p, part, whole) -> (greatest(0., part - p.1), whole - p.2), parts_retrans, arrayResize([part_retrans], length(parts_retrans), part_retrans), arrayResize([whole_retrans], length(parts_retrans), whole_retrans)) AS rests_retrans,
if(whole_rwnd > 0, least(part_rwnd / whole_rwnd, 1.), 0.) AS share_rwnd, arrayMap((p, part, whole) -> (greatest(0., part - p.1), whole - p.2), parts_rwnd, arrayResize([part_rwnd], length(parts_rwnd), part_rwnd), arrayResize([whole_rwnd], length(parts_rwnd), whole_rwnd)) AS rests_rwnd,
if(whole_busy > 0, least(part_busy / whole_busy, 1.), 0.) AS share_busy, arrayMap((p, part, whole) -> (greatest(0., part - p.1), whole - p.2), parts_busy, arrayResize([part_busy], length(parts_busy), part_busy), arrayResize([whole_busy], length(parts_busy), whole_busy)) AS rests_busy,
if(whole_limited > 0, least(part_limited / whole_limited, 1.), 0.) AS share_limited, arrayMap((p, part, whole) -> (greatest(0., part - p.1), whole - p.2), parts_limited, arrayResize([part_limited], length(parts_limited), part_limited), arrayResize([whole_limited], length(parts_limited), whole_limited)) AS rests_limited FROM windows_10;

CREATE VIEW IF NOT EXISTS windows_12 AS SELECT *, arrayMap(p -> if(p.2 > 0, least(p.1 / p.2, 1.), 0.), rests_retrans) AS without_retrans,
arrayMap(p -> if(p.2 > 0, least(p.1 / p.2, 1.), 0.), rests_rwnd) AS without_rwnd,
arrayMap(p -> if(p.2 > 0, least(p.1 / p.2, 1.), 0.), rests_busy) AS without_busy,
arrayMap(p -> if(p.2 > 0, least(p.1 / p.2, 1.), 0.), rests_limited) AS without_limited FROM windows_11;

CREATE VIEW IF NOT EXISTS windows_13 AS SELECT *, arrayMap((s, most) -> (s.1, s.6 * if(s.7 > 1, least(1., most / s.7), 1.), s.6), samples, arrayResize([most_own], length(samples), most_own)) AS any_rate,
arrayMap((s, most) -> (s.2, s.6 * if(s.7 > 1, least(1., most / s.7), 1.), s.6), samples, arrayResize([most_own], length(samples), most_own)) AS any_goodput,
arrayMap((s, most) -> (s.3, s.6 * if(s.7 > 1, least(1., most / s.7), 1.), s.6), samples, arrayResize([most_own], length(samples), most_own)) AS any_rtt,
arrayMap((s, most) -> (s.4, s.6 * if(s.7 > 1, least(1., most / s.7), 1.), s.6), samples, arrayResize([most_own], length(samples), most_own)) AS any_srtt,
arrayMap((s, most) -> (s.5, s.6 * if(s.8 > 1, least(1., most / s.8), 1.), s.6), samples, arrayResize([most_late], length(samples), most_late)) AS any_late FROM windows_12;

CREATE VIEW IF NOT EXISTS windows_14 AS SELECT *, arraySort(arrayFilter(c -> c.1 > 0 AND c.1 != 4294967295, any_rate)) AS col_rate,
arraySort(arrayFilter(c -> c.1 > 0 AND c.1 != 4294967295, any_goodput)) AS col_goodput,
arraySort(arrayFilter(c -> c.1 > 0 AND c.1 != 4294967295, any_rtt)) AS col_rtt,
arraySort(arrayFilter(c -> c.1 > 0 AND c.1 != 4294967295, any_srtt)) AS col_srtt,
arraySort(arrayFilter(c -> c.1 > 0 AND c.1 != 4294967295, any_late)) AS col_late FROM windows_13;

CREATE VIEW IF NOT EXISTS windows_15 AS SELECT *, arrayMap(c -> c.1, col_rate) AS v_rate, arrayMap(c -> c.3, col_rate) AS t_rate, arrayCumSum(arrayMap(c -> c.2, col_rate)) AS sums_rate, arrayCumSum(arrayMap(c -> c.2 * c.2, col_rate))[-1] AS squares_rate,
arrayMap(c -> c.1, col_goodput) AS v_goodput, arrayMap(c -> c.3, col_goodput) AS t_goodput, arrayCumSum(arrayMap(c -> c.2, col_goodput)) AS sums_goodput, arrayCumSum(arrayMap(c -> c.2 * c.2, col_goodput))[-1] AS squares_goodput,
arrayMap(c -> c.1, col_rtt) AS v_rtt, arrayMap(c -> c.3, col_rtt) AS t_rtt, arrayCumSum(arrayMap(c -> c.2, col_rtt)) AS sums_rtt, arrayCumSum(arrayMap(c -> c.2 * c.2, col_rtt))[-1] AS squares_rtt,
arrayMap(c -> c.1, col_srtt) AS v_srtt, arrayMap(c -> c.3, col_srtt) AS t_srtt, arrayCumSum(arrayMap(c -> c.2, col_srtt)) AS sums_srtt, arrayCumSum(arrayMap(c -> c.2 * c.2, col_srtt))[-1] AS squares_srtt,
arrayMap(c -> c.1, col_late) AS v_late, arrayMap(c -> c.3, col_late) AS t_late, arrayCumSum(arrayMap(c -> c.2, col_late)) AS sums_late, arrayCumSum(arrayMap(c -> c.2 * c.2, col_late))[-1] AS squares_late FROM windows_14;

CREATE VIEW IF NOT EXISTS windows_16 AS SELECT *, sums_rate[-1] AS all_rate, arraySum(t_rate) AS times_rate, toFloat64(length(v_rate)) AS len_rate, length(arrayFilter((t, first) -> t != first, t_rate, arrayResize([t_rate[1]], length(t_rate), t_rate[1]))) > 0 AS mixed_rate,
sums_goodput[-1] AS all_goodput, arraySum(t_goodput) AS times_goodput, toFloat64(length(v_goodput)) AS len_goodput, length(arrayFilter((t, first) -> t != first, t_goodput, arrayResize([t_goodput[1]], length(t_goodput), t_goodput[1]))) > 0 AS mixed_goodput,
sums_rtt[-1] AS all_rtt, arraySum(t_rtt) AS times_rtt, toFloat64(length(v_rtt)) AS len_rtt, length(arrayFilter((t, first) -> t != first, t_rtt, arrayResize([t_rtt[1]], length(t_rtt), t_rtt[1]))) > 0 AS mixed_rtt,
sums_srtt[-1] AS all_srtt, arraySum(t_srtt) AS times_srtt, toFloat64(length(v_srtt)) AS len_srtt, length(arrayFilter((t, first) -> t != first, t_srtt, arrayResize([t_srtt[1]], length(t_srtt), t_srtt[1]))) > 0 AS mixed_srtt,
sums_late[-1] AS all_late, arraySum(t_late) AS times_late, toFloat64(length(v_late)) AS len_late, length(arrayFilter((t, first) -> t != first, t_late, arrayResize([t_late[1]], length(t_late), t_late[1]))) > 0 AS mixed_late FROM windows_15;

CREATE VIEW IF NOT EXISTS windows_17 AS SELECT *, greatest(all_rate * all_rate / squares_rate, 1.) AS worth_rate, mixed_rate OR all_rate < times_rate AS uneven_rate,
greatest(all_goodput * all_goodput / squares_goodput, 1.) AS worth_goodput, mixed_goodput OR all_goodput < times_goodput AS uneven_goodput,
greatest(all_rtt * all_rtt / squares_rtt, 1.) AS worth_rtt, mixed_rtt OR all_rtt < times_rtt AS uneven_rtt,
greatest(all_srtt * all_srtt / squares_srtt, 1.) AS worth_srtt, mixed_srtt OR all_srtt < times_srtt AS uneven_srtt,
greatest(all_late * all_late / squares_late, 1.) AS worth_late, mixed_late OR all_late < times_late AS uneven_late FROM windows_16;

CREATE VIEW IF NOT EXISTS windows_18 AS SELECT *, arrayMap(v -> log(v), v_rate) AS ln_rate, arrayMap((t, times, len, mixed) -> if(mixed, t / times, 1. / len), t_rate, arrayResize([times_rate], length(t_rate), times_rate), arrayResize([len_rate], length(t_rate), len_rate), arrayResize([mixed_rate], length(t_rate), mixed_rate)) AS equal_rate,
arrayMap(v -> log(v), v_goodput) AS ln_goodput, arrayMap((t, times, len, mixed) -> if(mixed, t / times, 1. / len), t_goodput, arrayResize([times_goodput], length(t_goodput), times_goodput), arrayResize([len_goodput], length(t_goodput), len_goodput), arrayResize([mixed_goodput], length(t_goodput), mixed_goodput)) AS equal_goodput FROM windows_17;

CREATE VIEW IF NOT EXISTS windows_19 AS SELECT *, arraySum(arrayMap((v, w) -> v * w, ln_rate, equal_rate)) AS log_rate_mean,
arraySum(arrayMap((v, w) -> v * w, ln_goodput, equal_goodput)) AS log_goodput_mean FROM windows_18;

CREATE VIEW IF NOT EXISTS windows_20 AS SELECT *, arraySum(arrayMap((v, w, mean) -> (v - mean) * (v - mean) * w, ln_rate, equal_rate, arrayResize([log_rate_mean], length(ln_rate), log_rate_mean))) AS log_rate_var,
arraySum(arrayMap((v, w, mean) -> (v - mean) * (v - mean) * w, ln_goodput, equal_goodput, arrayResize([log_goodput_mean], length(ln_goodput), log_goodput_mean))) AS log_goodput_var FROM windows_19;

CREATE VIEW IF NOT EXISTS windows_21 AS SELECT *, 0.05 * (len_rate - 1.) AS at_q0, 0.05 * (worth_rate - 1.) / worth_rate * all_rate AS low_q0,
0.1 * (len_rate - 1.) AS at_q1, 0.1 * (worth_rate - 1.) / worth_rate * all_rate AS low_q1,
0.2 * (len_rate - 1.) AS at_q2, 0.2 * (worth_rate - 1.) / worth_rate * all_rate AS low_q2,
0.5 * (len_rate - 1.) AS at_q3, 0.5 * (worth_rate - 1.) / worth_rate * all_rate AS low_q3,
0.8 * (len_rate - 1.) AS at_q4, 0.8 * (worth_rate - 1.) / worth_rate * all_rate AS low_q4,
0.5 * (len_rtt - 1.) AS at_q5, 0.5 * (worth_rtt - 1.) / worth_rtt * all_rtt AS low_q5,
0.5 * (len_srtt - 1.) AS at_q6, 0.5 * (worth_srtt - 1.) / worth_srtt * all_srtt AS low_q6,
0.5 * (len_late - 1.) AS at_q7, 0.5 * (worth_late - 1.) / worth_late * all_late AS low_q7,
0.95 * (len_late - 1.) AS at_q8, 0.95 * (worth_late - 1.) / worth_late * all_late AS low_q8 FROM windows_20;

CREATE VIEW IF NOT EXISTS windows_22 AS SELECT *, toUInt64(floor(at_q0)) AS i_q0, at_q0 - floor(at_q0) AS t_q0, low_q0 + all_rate / worth_rate AS high_q0,
toUInt64(floor(at_q1)) AS i_q1, at_q1 - floor(at_q1) AS t_q1, low_q1 + all_rate / worth_rate AS high_q1,
toUInt64(floor(at_q2)) AS i_q2, at_q2 - floor(at_q2) AS t_q2, low_q2 + all_rate / worth_rate AS high_q2,
toUInt64(floor(at_q3)) AS i_q3, at_q3 - floor(at_q3) AS t_q3, low_q3 + all_rate / worth_rate AS high_q3,
toUInt64(floor(at_q4)) AS i_q4, at_q4 - floor(at_q4) AS t_q4, low_q4 + all_rate / worth_rate AS high_q4,
toUInt64(floor(at_q5)) AS i_q5, at_q5 - floor(at_q5) AS t_q5, low_q5 + all_rtt / worth_rtt AS high_q5,
toUInt64(floor(at_q6)) AS i_q6, at_q6 - floor(at_q6) AS t_q6, low_q6 + all_srtt / worth_srtt AS high_q6,
toUInt64(floor(at_q7)) AS i_q7, at_q7 - floor(at_q7) AS t_q7, low_q7 + all_late / worth_late AS high_q7,
toUInt64(floor(at_q8)) AS i_q8, at_q8 - floor(at_q8) AS t_q8, low_q8 + all_late / worth_late AS high_q8 FROM windows_21;

CREATE VIEW IF NOT EXISTS windows_23 AS SELECT *, v_rate[i_q0 + 1] AS x_q0, v_rate[i_q0 + 2] AS y_q0, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_rate, arrayPopBack(arrayPushFront(sums_rate, 0.)), v_rate, arrayResize([low_q0], length(v_rate), low_q0), arrayResize([high_q0], length(v_rate), high_q0)) AS steps_q0,
v_rate[i_q1 + 1] AS x_q1, v_rate[i_q1 + 2] AS y_q1, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_rate, arrayPopBack(arrayPushFront(sums_rate, 0.)), v_rate, arrayResize([low_q1], length(v_rate), low_q1), arrayResize([high_q1], length(v_rate), high_q1)) AS steps_q1,
v_rate[i_q2 + 1] AS x_q2, v_rate[i_q2 + 2] AS y_q2, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_rate, arrayPopBack(arrayPushFront(sums_rate, 0.)), v_rate, arrayResize([low_q2], length(v_rate), low_q2), arrayResize([high_q2], length(v_rate), high_q2)) AS steps_q2,
v_rate[i_q3 + 1] AS x_q3, v_rate[i_q3 + 2] AS y_q3, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_rate, arrayPopBack(arrayPushFront(sums_rate, 0.)), v_rate, arrayResize([low_q3], length(v_rate), low_q3), arrayResize([high_q3], length(v_rate), high_q3)) AS steps_q3,
v_rate[i_q4 + 1] AS x_q4, v_rate[i_q4 + 2] AS y_q4, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_rate, arrayPopBack(arrayPushFront(sums_rate, 0.)), v_rate, arrayResize([low_q4], length(v_rate), low_q4), arrayResize([high_q4], length(v_rate), high_q4)) AS steps_q4,
v_rtt[i_q5 + 1] AS x_q5, v_rtt[i_q5 + 2] AS y_q5, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_rtt, arrayPopBack(arrayPushFront(sums_rtt, 0.)), v_rtt, arrayResize([low_q5], length(v_rtt), low_q5), arrayResize([high_q5], length(v_rtt), high_q5)) AS steps_q5,
v_srtt[i_q6 + 1] AS x_q6, v_srtt[i_q6 + 2] AS y_q6, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_srtt, arrayPopBack(arrayPushFront(sums_srtt, 0.)), v_srtt, arrayResize([low_q6], length(v_srtt), low_q6), arrayResize([high_q6], length(v_srtt), high_q6)) AS steps_q6,
v_late[i_q7 + 1] AS x_q7, v_late[i_q7 + 2] AS y_q7, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_late, arrayPopBack(arrayPushFront(sums_late, 0.)), v_late, arrayResize([low_q7], length(v_late), low_q7), arrayResize([high_q7], length(v_late), high_q7)) AS steps_q7,
v_late[i_q8 + 1] AS x_q8, v_late[i_q8 + 2] AS y_q8, arrayMap((s, was, v, low, high) -> (least(high, s) - greatest(low, was), v), sums_late, arrayPopBack(arrayPushFront(sums_late, 0.)), v_late, arrayResize([low_q8], length(v_late), low_q8), arrayResize([high_q8], length(v_late), high_q8)) AS steps_q8 FROM windows_22;

CREATE VIEW IF NOT EXISTS windows_24 AS SELECT *, arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q0, arrayResize([all_rate], length(steps_q0), all_rate)) AS taken_q0,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q1, arrayResize([all_rate], length(steps_q1), all_rate)) AS taken_q1,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q2, arrayResize([all_rate], length(steps_q2), all_rate)) AS taken_q2,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q3, arrayResize([all_rate], length(steps_q3), all_rate)) AS taken_q3,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q4, arrayResize([all_rate], length(steps_q4), all_rate)) AS taken_q4,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q5, arrayResize([all_rtt], length(steps_q5), all_rtt)) AS taken_q5,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q6, arrayResize([all_srtt], length(steps_q6), all_srtt)) AS taken_q6,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q7, arrayResize([all_late], length(steps_q7), all_late)) AS taken_q7,
arrayFilter((p, all) -> p.1 > 1e-12 * all, steps_q8, arrayResize([all_late], length(steps_q8), all_late)) AS taken_q8 FROM windows_23;

CREATE VIEW IF NOT EXISTS windows_25 AS SELECT *, arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q0))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q0))[-1] AS w_q0, arrayMap(p -> p.2, taken_q0) AS vs_q0,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q1))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q1))[-1] AS w_q1, arrayMap(p -> p.2, taken_q1) AS vs_q1,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q2))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q2))[-1] AS w_q2, arrayMap(p -> p.2, taken_q2) AS vs_q2,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q3))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q3))[-1] AS w_q3, arrayMap(p -> p.2, taken_q3) AS vs_q3,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q4))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q4))[-1] AS w_q4, arrayMap(p -> p.2, taken_q4) AS vs_q4,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q5))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q5))[-1] AS w_q5, arrayMap(p -> p.2, taken_q5) AS vs_q5,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q6))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q6))[-1] AS w_q6, arrayMap(p -> p.2, taken_q6) AS vs_q6,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q7))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q7))[-1] AS w_q7, arrayMap(p -> p.2, taken_q7) AS vs_q7,
arrayCumSum(arrayMap(p -> p.1 * p.2, taken_q8))[-1] / arrayCumSum(arrayMap(p -> p.1, taken_q8))[-1] AS w_q8, arrayMap(p -> p.2, taken_q8) AS vs_q8 FROM windows_24;

CREATE VIEW IF NOT EXISTS windows_26 AS SELECT *, multiIf(len_rate = 0, 0., uneven_rate, least(greatest(w_q0, vs_q0[1]), vs_q0[-1]), t_q0 = 0 OR x_q0 = y_q0, x_q0, t_q0 < 0.5, x_q0 + (y_q0 - x_q0) * t_q0, y_q0 - (y_q0 - x_q0) * (1. - t_q0)) AS rate_p05_bytes_per_s,
multiIf(len_rate = 0, 0., uneven_rate, least(greatest(w_q1, vs_q1[1]), vs_q1[-1]), t_q1 = 0 OR x_q1 = y_q1, x_q1, t_q1 < 0.5, x_q1 + (y_q1 - x_q1) * t_q1, y_q1 - (y_q1 - x_q1) * (1. - t_q1)) AS rate_p10_bytes_per_s,
multiIf(len_rate = 0, 0., uneven_rate, least(greatest(w_q2, vs_q2[1]), vs_q2[-1]), t_q2 = 0 OR x_q2 = y_q2, x_q2, t_q2 < 0.5, x_q2 + (y_q2 - x_q2) * t_q2, y_q2 - (y_q2 - x_q2) * (1. - t_q2)) AS rate_p20_bytes_per_s,
multiIf(len_rate = 0, 0., uneven_rate, least(greatest(w_q3, vs_q3[1]), vs_q3[-1]), t_q3 = 0 OR x_q3 = y_q3, x_q3, t_q3 < 0.5, x_q3 + (y_q3 - x_q3) * t_q3, y_q3 - (y_q3 - x_q3) * (1. - t_q3)) AS rate_p50_bytes_per_s,
multiIf(len_rate = 0, 0., uneven_rate, least(greatest(w_q4, vs_q4[1]), vs_q4[-1]), t_q4 = 0 OR x_q4 = y_q4, x_q4, t_q4 < 0.5, x_q4 + (y_q4 - x_q4) * t_q4, y_q4 - (y_q4 - x_q4) * (1. - t_q4)) AS rate_p80_bytes_per_s,
multiIf(len_rtt = 0, 0., uneven_rtt, least(greatest(w_q5, vs_q5[1]), vs_q5[-1]), t_q5 = 0 OR x_q5 = y_q5, x_q5, t_q5 < 0.5, x_q5 + (y_q5 - x_q5) * t_q5, y_q5 - (y_q5 - x_q5) * (1. - t_q5)) AS min_rtt_us,
multiIf(len_srtt = 0, 0., uneven_srtt, least(greatest(w_q6, vs_q6[1]), vs_q6[-1]), t_q6 = 0 OR x_q6 = y_q6, x_q6, t_q6 < 0.5, x_q6 + (y_q6 - x_q6) * t_q6, y_q6 - (y_q6 - x_q6) * (1. - t_q6)) AS srtt_us,
multiIf(len_late = 0, 0., uneven_late, least(greatest(w_q7, vs_q7[1]), vs_q7[-1]), t_q7 = 0 OR x_q7 = y_q7, x_q7, t_q7 < 0.5, x_q7 + (y_q7 - x_q7) * t_q7, y_q7 - (y_q7 - x_q7) * (1. - t_q7)) AS late_p50_bytes_per_s,
multiIf(len_late = 0, 0., uneven_late, least(greatest(w_q8, vs_q8[1]), vs_q8[-1]), t_q8 = 0 OR x_q8 = y_q8, x_q8, t_q8 < 0.5, x_q8 + (y_q8 - x_q8) * t_q8, y_q8 - (y_q8 - x_q8) * (1. - t_q8)) AS late_p95_bytes_per_s FROM windows_25;

CREATE VIEW IF NOT EXISTS windows_27 AS SELECT *, samples AS of_eligible, arrayFilter(s -> s.2 > 0, samples) AS of_means, arrayFilter(s -> s.5 > 0, samples) AS of_lates FROM windows_26;

CREATE VIEW IF NOT EXISTS windows_28 AS SELECT *, arraySum(arrayMap(s -> s.6, of_eligible)) AS stand_eligible, arraySum(arrayMap(s -> s.6 * s.6, of_eligible)) AS square_eligible, toFloat64(length(of_eligible)) AS known_eligible,
arraySum(arrayMap(s -> s.6, of_means)) AS stand_means, arraySum(arrayMap(s -> s.6 * s.6, of_means)) AS square_means, toFloat64(length(of_means)) AS known_means,
arraySum(arrayMap(s -> s.6, of_lates)) AS stand_lates, arraySum(arrayMap(s -> s.6 * s.6, of_lates)) AS square_lates, toFloat64(length(of_lates)) AS known_lates FROM windows_27;

CREATE VIEW IF NOT EXISTS windows_29 AS SELECT *, toUInt32(if(known_eligible * square_eligible = stand_eligible * stand_eligible, toFloat64(n_eligible), greatest(1., floor(toFloat64(n_eligible) * stand_eligible * stand_eligible / (known_eligible * square_eligible) + 0.5)))) AS worth_of_eligible,
toUInt32(if(known_means * square_means = stand_means * stand_means, toFloat64(n_means), greatest(1., floor(toFloat64(n_means) * stand_means * stand_means / (known_means * square_means) + 0.5)))) AS worth_of_means,
toUInt32(if(known_lates * square_lates = stand_lates * stand_lates, toFloat64(n_lates), greatest(1., floor(toFloat64(n_lates) * stand_lates * stand_lates / (known_lates * square_lates) + 0.5)))) AS worth_of_lates FROM windows_28;

CREATE VIEW IF NOT EXISTS windows AS SELECT pop, start, toInt64(net) AS prefix, arm, cong, carryover, control, conns, worth_of_eligible AS eligible,
least(worth_of_means, worth_of_eligible) AS rate_means, bytes,
rate_p05_bytes_per_s, rate_p10_bytes_per_s, rate_p20_bytes_per_s, rate_p50_bytes_per_s, rate_p80_bytes_per_s, min_rtt_us, srtt_us,
share_retrans AS retrans_share,
if(length(parts_rwnd) < 3, share_rwnd, arrayReduce('min', arrayPushBack(without_rwnd, share_rwnd))) AS rwnd_share,
if(length(parts_busy) < 3, share_busy, arrayReduce('max', arrayPushBack(without_busy, share_busy))) AS busy_share,
share_limited AS app_limited_share, log_rate_mean, log_rate_var, eligible_sent_bytes, eligible_retrans_bytes, capped,
log_goodput_mean, log_goodput_var, episodes, if(len_late = 0, toUInt32(0), least(worth_of_lates, worth_of_eligible)) AS late_conns,
late_p50_bytes_per_s, late_p95_bytes_per_s FROM windows_29
