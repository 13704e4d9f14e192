package clickhouse

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"
)

// Store is a connection to one database of a ClickHouse server. Its methods may be called at the
// same time.
type Store struct {
	conn     driver.Conn
	database string
	can      features
	version  string
}

// queryTime bounds each request: a server that says nothing for a minute is away.
const queryTime = time.Minute

// dialTime bounds connecting.
const dialTime = 5 * time.Second

// plainName is what a database may be called: DDL takes no parameters.
var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// Open connects to the database that address names: clickhouse://user:password@host:9000/database,
// several hosts with commas, TLS with ?secure=true. Without a database it is "congctl". It waits
// for the server's answer. Errors never have the password.
func Open(ctx context.Context, address string) (*Store, error) {
	o, err := options(address)
	if err != nil {
		return nil, err
	}
	return open(ctx, o)
}

func options(address string) (*driver.Options, error) {
	o, err := driver.ParseDSN(address)
	var wrong *url.Error // repeats the address
	if errors.As(err, &wrong) {
		err = wrong.Err
	}
	if err != nil {
		return nil, fmt.Errorf("read ClickHouse's address: %w; write clickhouse://user:password@host:9000/database", err)
	}
	if o.Auth.Database == "" {
		o.Auth.Database = "congctl"
	}
	if !plainName.MatchString(o.Auth.Database) {
		return nil, fmt.Errorf("read ClickHouse's address: database %q: use letters, digits and _", o.Auth.Database)
	}
	o.DialTimeout, o.ReadTimeout = dialTime, queryTime
	return o, nil
}

// Shown is the address as a person may see it: without user and password.
func Shown(address string) (string, error) {
	o, err := options(address)
	if err != nil {
		return "", err
	}
	return "clickhouse://" + strings.Join(o.Addr, ",") + "/" + o.Auth.Database, nil
}

func open(ctx context.Context, o *driver.Options) (*Store, error) {
	conn, err := driver.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open ClickHouse: %w", err)
	}
	s := &Store{conn: conn, database: o.Auth.Database}
	ctx, done := context.WithTimeout(ctx, queryTime)
	defer done()
	var major, minor int
	err = conn.QueryRow(ctx, "SELECT version()").Scan(&s.version)
	if err == nil {
		_, err = fmt.Sscanf(s.version, "%d.%d", &major, &minor)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open ClickHouse: %w", err), conn.Close())
	}
	s.can = featuresOf(major)
	return s, nil
}

// Close ends the connections.
func (s *Store) Close() error { return s.conn.Close() }

// do runs a statement without an answer.
func (s *Store) do(ctx context.Context, what, sql string) error {
	return s.doFor(ctx, queryTime, what, sql)
}

func (s *Store) doFor(ctx context.Context, limit time.Duration, what, sql string) error {
	ctx, done := context.WithTimeout(ctx, limit)
	defer done()
	if err := s.conn.Exec(ctx, sql); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
