package address

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// ClickHouse is a database of a server, and how to get in.
type ClickHouse struct {
	Hosts    []string // host:port, of one server
	Database string

	TLS, SkipVerify bool   // SkipVerify: whatever certificate the server has
	User, Password  string // "": the server's default user
}

// plainDatabase: DDL takes no parameters.
var plainDatabase = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]{0,63}$`)

// ParseClickHouse reads clickhouse://user:password@host:9000/database, several hosts with commas, TLS with ?secure=true. Without a
// database it is "congctl".
func ParseClickHouse(s string) (ClickHouse, error) {
	c, err := parseClickHouse(s)
	if err != nil {
		return ClickHouse{}, fmt.Errorf("read ClickHouse's address: %w", err)
	}
	return c, nil
}

func parseClickHouse(s string) (c ClickHouse, err error) {
	rest, found := strings.CutPrefix(s, "clickhouse://")
	if !found {
		return c, errors.New("it does not begin with clickhouse://: write clickhouse://user:password@host:9000/database, with ?secure=true for TLS")
	}
	p, err := cut(rest)
	if err != nil {
		return c, err
	}
	c = ClickHouse{Hosts: p.hosts, Database: cmp.Or(p.name, "congctl"), User: p.user, Password: p.password}
	if !plainDatabase.MatchString(c.Database) {
		return c, errors.New("database: use letters, digits and _, at most 64")
	}
	for name, values := range p.options {
		to := map[string]*bool{"secure": &c.TLS, "skip_verify": &c.SkipVerify}[name]
		if to == nil {
			return c, errors.New("unknown option: use secure, skip_verify; user and password stand before the host")
		}
		if *to, err = strconv.ParseBool(cmp.Or(values[0], "true")); err != nil {
			return c, fmt.Errorf("option %s: write true or false", name)
		}
	}
	usual := ":9000"
	if c.TLS {
		usual = ":9440"
	}
	for i, h := range c.Hosts {
		port, ok := host(h)
		if !ok {
			return c, errors.New("host: write host:port, several with commas; in a password %2F for /, %3F for ?")
		}
		if !port {
			c.Hosts[i] += usual
		}
	}
	return c, nil
}

// String is the address without user and password.
func (c ClickHouse) String() string {
	var options []string
	if c.TLS {
		options = append(options, "secure=true")
	}
	if c.SkipVerify {
		options = append(options, "skip_verify=true")
	}
	return shown("clickhouse", c.User, c.Hosts, c.Database, strings.Join(options, "&"))
}
