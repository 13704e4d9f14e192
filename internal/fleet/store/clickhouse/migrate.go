package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Init makes the database if there is none, then its schema.
func Init(ctx context.Context, address string) (done []string, err error) {
	o, err := options(address)
	if err != nil {
		return nil, err
	}
	database := o.Auth.Database
	o.Auth.Database = "default" // a connection to a database that is not there is refused
	s, err := open(ctx, o)
	if err != nil {
		return nil, err
	}
	err = s.do(ctx, "create database "+database, "CREATE DATABASE IF NOT EXISTS `"+database+"`")
	if err = errors.Join(err, s.Close()); err != nil {
		return nil, err
	}
	if s, err = Open(ctx, address); err != nil {
		return nil, err
	}
	defer s.Close()
	if err := s.do(ctx, "create table of versions", "CREATE TABLE IF NOT EXISTS schema_versions (version UInt32, at DateTime) ENGINE = MergeTree ORDER BY version"); err != nil {
		return nil, err
	}
	return s.Migrate(ctx)
}

// Migrate brings the schema to this build's version and returns what it did, nothing when it is
// there already. It refuses a schema of a newer build, and a database without one.
func (s *Store) Migrate(ctx context.Context) (did []string, err error) {
	at, err := s.schemaVersion(ctx)
	if err != nil {
		return nil, err
	}
	if at > 0 { // a later step may need them
		if did, err = s.addColumns(ctx, at); err != nil {
			return did, err
		}
	}
	for v := at; v < len(steps); v++ {
		for _, sql := range steps[v].sql(s.can) {
			if err := s.doFor(ctx, stepTime, steps[v].what, sql); err != nil {
				return did, err
			}
		}
		if err := s.do(ctx, "note version", fmt.Sprintf("INSERT INTO schema_versions SELECT %d, now()", v+1)); err != nil {
			return did, err
		}
		did = append(did, steps[v].what)
	}
	return did, nil
}

// stepTime bounds a statement of a step, which may copy a table.
const stepTime = 12 * time.Hour

func (s *Store) addColumns(ctx context.Context, at int) (did []string, err error) {
	table := connRecords
	switch {
	case at < inRecords:
		table = "conns"
	case at < inConnRecords:
		table = records
	}
	missing, err := s.missing(ctx, table, columnsOf(table, s.can))
	for _, c := range missing {
		if err := s.do(ctx, "add column "+c.name, "ALTER TABLE "+table+" ADD COLUMN "+c.sql); err != nil {
			return did, err
		}
		did = append(did, "column "+c.name)
	}
	return did, err
}

// Check returns an error unless the schema is this build's.
func (s *Store) Check(ctx context.Context) error {
	at, err := s.schemaVersion(ctx)
	if err != nil {
		return err
	}
	if at < len(steps) {
		return fmt.Errorf("check schema: %w: version %d, this build has %d", ErrBehind, at, len(steps))
	}
	missing, err := s.missing(ctx, connRecords, columnsOf(connRecords, s.can))
	if err != nil || len(missing) == 0 {
		return err
	}
	var names []string
	for _, c := range missing {
		names = append(names, c.name)
	}
	return fmt.Errorf("check schema: %w: %s has no column %s", ErrBehind, connRecords, strings.Join(names, ", "))
}

// ErrBehind is a schema that Migrate would change; ErrNoSchema a database that Init has not made.
var (
	ErrBehind   = errors.New("schema behind")
	ErrNoSchema = errors.New("no schema of congctl")
)

func (s *Store) schemaVersion(ctx context.Context) (int, error) {
	ctx, done := context.WithTimeout(ctx, queryTime)
	defer done()
	var tables uint64
	err := s.conn.QueryRow(ctx, "SELECT count() FROM system.tables WHERE database = ? AND name = 'schema_versions'", s.database).Scan(&tables)
	if err == nil && tables == 0 {
		return 0, fmt.Errorf("read schema's version: %w in database %s", ErrNoSchema, s.database)
	}
	var version uint32
	if err == nil {
		err = s.conn.QueryRow(ctx, "SELECT max(version) FROM schema_versions").Scan(&version)
	}
	if err != nil {
		return 0, fmt.Errorf("read schema's version: %w", err)
	}
	if int(version) > len(steps) {
		return 0, fmt.Errorf("read schema's version: %d; this build knows %d: use the newer congctl", version, len(steps))
	}
	return int(version), nil
}

// missing are the columns that a table lacks.
func (s *Store) missing(ctx context.Context, table string, want []definition) (list []definition, err error) {
	ctx, done := context.WithTimeout(ctx, queryTime)
	defer done()
	var there []string
	rows, err := s.conn.Query(ctx, "SELECT name FROM system.columns WHERE database = ? AND table = ?", s.database, table)
	if err != nil {
		return nil, fmt.Errorf("list columns: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, fmt.Errorf("list columns: %w", err)
		}
		there = append(there, name)
	}
	for _, c := range want {
		if !slices.Contains(there, c.name) {
			list = append(list, c)
		}
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("list columns: %w", err)
	}
	return list, nil
}
