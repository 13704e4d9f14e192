-- Schema 2 of the store. docs/format/store.md explains every column.
-- Never change it: a new version gets a file of its own and a step in migrate.go.
-- Every row ends with sum: CRC-32C of its other columns (sum.go).

CREATE TABLE meta (
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- One row per closed window, also for one without clients: it makes "nothing
-- happened" different from "not known", and says how many rows belong to it.
CREATE TABLE window_heads (
  start INTEGER PRIMARY KEY,
  rows  INTEGER NOT NULL,
  note  TEXT    NOT NULL,
  sum   INTEGER NOT NULL
) STRICT;

CREATE TABLE windows (
  start                INTEGER NOT NULL,
  prefix               INTEGER NOT NULL,
  arm                  INTEGER NOT NULL,
  cong                 TEXT    NOT NULL,
  carryover            INTEGER NOT NULL,
  control              INTEGER NOT NULL,
  washout              INTEGER NOT NULL,
  conns                INTEGER NOT NULL,
  eligible             INTEGER NOT NULL,
  rate_means           INTEGER NOT NULL,
  bytes                INTEGER NOT NULL,
  rate_p05_bytes_per_s REAL    NOT NULL,
  rate_p10_bytes_per_s REAL    NOT NULL,
  rate_p20_bytes_per_s REAL    NOT NULL,
  rate_p50_bytes_per_s REAL    NOT NULL,
  rate_p80_bytes_per_s REAL    NOT NULL,
  min_rtt_us           REAL    NOT NULL,
  srtt_us              REAL    NOT NULL,
  retrans_share        REAL    NOT NULL,
  rwnd_share           REAL    NOT NULL,
  busy_share           REAL    NOT NULL,
  app_limited_share    REAL    NOT NULL,
  sum                  INTEGER NOT NULL,
  PRIMARY KEY (start, prefix, arm, cong, carryover)
) STRICT, WITHOUT ROWID;

CREATE TABLE rounds (
  round_start          INTEGER PRIMARY KEY,
  window               INTEGER NOT NULL,
  known                INTEGER NOT NULL,
  ranked               INTEGER NOT NULL,
  in_group             INTEGER NOT NULL,
  selected             INTEGER NOT NULL,
  new                  INTEGER NOT NULL,
  released             INTEGER NOT NULL,
  refused              INTEGER NOT NULL,
  boundary_bytes_per_s REAL    NOT NULL,
  note                 TEXT    NOT NULL,
  selection            TEXT    NOT NULL,
  sum                  INTEGER NOT NULL
) STRICT;

CREATE TABLE events (
  id       INTEGER PRIMARY KEY,
  at       INTEGER NOT NULL,
  kind     TEXT    NOT NULL,
  prefix   INTEGER NOT NULL,
  text     TEXT    NOT NULL,
  evidence TEXT    NOT NULL,
  sum      INTEGER NOT NULL
) STRICT;
CREATE INDEX events_prefix ON events (prefix, id);
CREATE INDEX events_at ON events (at);

CREATE TABLE plans (
  serial  INTEGER PRIMARY KEY,
  created INTEGER NOT NULL,
  hash    TEXT    NOT NULL,
  text    BLOB    NOT NULL,
  sum     INTEGER NOT NULL
) STRICT;

CREATE TABLE settings (
  key   TEXT PRIMARY KEY,
  value BLOB    NOT NULL,
  sum   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- For people with the sqlite3 shell: prefixes and times as text.
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
