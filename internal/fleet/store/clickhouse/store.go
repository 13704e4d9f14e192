package clickhouse

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"time"

	driver "github.com/ClickHouse/clickhouse-go/v2"

	"github.com/congctl/congctl/internal/loop/address"
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

// Open connects to the database that an address names ([address.ParseClickHouse]) and waits for the server's answer.
func Open(ctx context.Context, at string) (*Store, error) {
	o, err := options(at)
	if err != nil {
		return nil, err
	}
	return open(ctx, o)
}

// protocol is what servers speak; the engine of a test speaks HTTP.
var protocol = driver.Native

// options gives the client no address to quote in an error.
func options(at string) (*driver.Options, error) {
	a, err := address.ParseClickHouse(at)
	if err != nil {
		return nil, err
	}
	o := &driver.Options{Protocol: protocol, Addr: a.Hosts, Auth: driver.Auth{Database: a.Database, Username: a.User, Password: a.Password}, DialTimeout: dialTime, ReadTimeout: queryTime}
	if a.TLS {
		o.TLS = &tls.Config{InsecureSkipVerify: a.SkipVerify}
	}
	return o, nil
}

// Shown is the address as a person may see it: without user and password.
func Shown(at string) (string, error) {
	a, err := address.ParseClickHouse(at)
	if err != nil {
		return "", err
	}
	return a.String(), nil
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
