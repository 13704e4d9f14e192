-- Schema 5 is schema 4 with capped in the key of windows (capped responses and scouts of one
-- arm are rows of their own) and six more columns: goodput, episodes of loss, late rates.
-- Older rows have 0 in them: not capped, and not known.
-- Never change it: a new version gets a file of its own and a step in migrate.go.
-- It runs on a store of schema 4, also on the empty one that a new store begins as.
-- It leaves v4_windows, whose rows the step copies (each needs a new sum) and drops.

DROP VIEW windows_readable;
ALTER TABLE windows RENAME TO v4_windows;

CREATE TABLE windows (
  start                  INTEGER NOT NULL,
  prefix                 INTEGER NOT NULL,
  arm                    INTEGER NOT NULL,
  cong                   TEXT    NOT NULL,
  carryover              INTEGER NOT NULL,
  control                INTEGER NOT NULL,
  washout                INTEGER NOT NULL,
  conns                  INTEGER NOT NULL,
  eligible               INTEGER NOT NULL,
  rate_means             INTEGER NOT NULL,
  bytes                  INTEGER NOT NULL,
  rate_p05_bytes_per_s   REAL    NOT NULL,
  rate_p10_bytes_per_s   REAL    NOT NULL,
  rate_p20_bytes_per_s   REAL    NOT NULL,
  rate_p50_bytes_per_s   REAL    NOT NULL,
  rate_p80_bytes_per_s   REAL    NOT NULL,
  min_rtt_us             REAL    NOT NULL,
  srtt_us                REAL    NOT NULL,
  retrans_share          REAL    NOT NULL,
  rwnd_share             REAL    NOT NULL,
  busy_share             REAL    NOT NULL,
  app_limited_share      REAL    NOT NULL,
  log_rate_mean          REAL    NOT NULL,
  log_rate_var           REAL    NOT NULL,
  eligible_sent_bytes    INTEGER NOT NULL,
  eligible_retrans_bytes INTEGER NOT NULL,
  capped                 INTEGER NOT NULL,
  log_goodput_mean       REAL    NOT NULL,
  log_goodput_var        REAL    NOT NULL,
  episodes               INTEGER NOT NULL,
  late_conns             INTEGER NOT NULL,
  late_p50_bytes_per_s   REAL    NOT NULL,
  late_p95_bytes_per_s   REAL    NOT NULL,
  sum                    INTEGER NOT NULL,
  PRIMARY KEY (start, prefix, arm, cong, carryover, control, capped)
) STRICT, WITHOUT ROWID;

CREATE VIEW windows_readable AS
SELECT datetime(start, 'unixepoch') AS start_utc,
       CASE WHEN prefix BETWEEN 0 AND 4294967295
            THEN printf('%d.%d.%d.0/24', prefix >> 24, (prefix >> 16) & 255, (prefix >> 8) & 255)
            ELSE printf('%x:%x:%x:%x::/56', (prefix >> 48) & 65535, (prefix >> 32) & 65535,
                        (prefix >> 16) & 65535, prefix & 65280) END AS client_prefix,
       CASE arm WHEN 0 THEN 'none' WHEN 1 THEN 'T' WHEN 2 THEN 'C' WHEN 3 THEN 'hold-out'
                WHEN 4 THEN 'A/A' ELSE 'unknown' END AS arm_name,
       *
FROM windows;
