-- A store of schema 1, with a few rows of each table.
PRAGMA application_id = 1668247143;
PRAGMA user_version = 1;
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE windows (
  start INTEGER NOT NULL, prefix TEXT NOT NULL, arm INTEGER NOT NULL, cong TEXT NOT NULL, control INTEGER NOT NULL,
  conns INTEGER NOT NULL, eligible INTEGER NOT NULL, rate_means INTEGER NOT NULL, bytes INTEGER NOT NULL,
  rate_p05 REAL NOT NULL, rate_p10 REAL NOT NULL, rate_p20 REAL NOT NULL, rate_p50 REAL NOT NULL, rate_p80 REAL NOT NULL,
  min_rtt_us REAL NOT NULL, srtt_us REAL NOT NULL, retrans_share REAL NOT NULL, rwnd_share REAL NOT NULL,
  busy_share REAL NOT NULL, app_limited_share REAL NOT NULL,
  PRIMARY KEY (start, prefix, arm, cong)
);
CREATE TABLE notes (start INTEGER PRIMARY KEY, reason TEXT NOT NULL);
CREATE TABLE rounds (
  round_start INTEGER PRIMARY KEY, window INTEGER NOT NULL, known INTEGER NOT NULL, ranked INTEGER NOT NULL,
  in_group INTEGER NOT NULL, selected INTEGER NOT NULL, new INTEGER NOT NULL, released INTEGER NOT NULL,
  note TEXT NOT NULL, selection TEXT NOT NULL
);
CREATE TABLE events (
  id INTEGER PRIMARY KEY, at INTEGER NOT NULL, kind TEXT NOT NULL, prefix TEXT NOT NULL, text TEXT NOT NULL, evidence TEXT NOT NULL
);
CREATE INDEX events_prefix ON events (prefix, id);
CREATE TABLE plans (serial INTEGER PRIMARY KEY, created INTEGER NOT NULL, hash TEXT NOT NULL, text TEXT NOT NULL);
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);

INSERT INTO meta VALUES ('created_by', 'congctl 0.0.1'), ('created', '2026-01-02T03:04:05Z');
INSERT INTO windows VALUES
  (1767322800, '203.0.113.0/24', 0, 'cubic', 1, 12, 7, 7, 9876543, 1e5, 1.5e5, 2e5, 4e5, 8e5, 41000, 52000.5, 0.0125, 0, 0.9, 0.25),
  (1767322800, '2001:db8:0:ab00::/56', 0, 'cubic', 1, 3, 0, 0, 4321, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.1, 1),
  (1767323100, '203.0.113.0/24', 1, 'bbr', 0, 9, 6, 5, 7654321, 2e5, 2.5e5, 3e5, 5e5, 9e5, 40500, 47000, 0.03, 0.1, 0.95, 0);
INSERT INTO notes VALUES (1767323400, 'wall clock stepped by 612 s');
INSERT INTO rounds VALUES (1767323100, 1767322800, 2, 1, 1, 1, 1, 0, '', '["203.0.113.0/24"]');
INSERT INTO events VALUES
  (1, 1767323100, 'selected', '203.0.113.0/24', 'selected: duty 0.92', '{"duty":0.92}'),
  (2, 1767323200, 'stop', '', 'stopped by hand', '');
INSERT INTO plans VALUES (1, 1767323100, 'abc123', 'format 1' || char(10) || '203.0.113.0/24 bbr' || char(10));
INSERT INTO settings VALUES ('killed', '1'), ('salt', 'c2FsdA==');
