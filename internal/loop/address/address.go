// Package address reads addresses that may have a password: of Kafka's topics, of ClickHouse's databases, of controllers.
//
// It opens none, and reads no file.
//
// Its trap: what is wrong with an address is logged, stored as an event and shown to callers without a password. In a
// malformed one the secret may be anywhere: its "/" makes the rest of it a topic, its "?" an option. So no error quotes
// any part of what was read, and String has neither user nor password.
package address

import (
	"errors"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// parts are scheme://user:password@host,host/name?options.
type parts struct {
	user, password string
	word           bool // a password was given, if only an empty one
	hosts          []string
	name           string
	options        url.Values
}

var (
	errEscape = errors.New("before the @: write user:password, and in both %2F for /, %3F for ?, %23 for #, %40 for @, %25 for %, %3A for :")
	errOption = errors.New("behind the ?: write name=value, several with &")
)

// cut reads what follows the scheme.
func cut(rest string) (p parts, err error) {
	place, behind := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		place, behind = rest[:end], rest[end:]
	}
	if strings.ContainsAny(behind, "@#") { // the end was a part of the password
		return p, errEscape
	}
	if at := strings.LastIndex(place, "@"); at >= 0 {
		if err := p.credentials(place[:at]); err != nil {
			return p, err
		}
		place = place[at+1:]
	}
	p.hosts = strings.Split(place, ",")
	name, options, _ := strings.Cut(behind, "?")
	p.name = strings.TrimPrefix(name, "/")
	if p.options, err = url.ParseQuery(options); err != nil {
		return p, errOption
	}
	return p, nil
}

func (p *parts) credentials(s string) (err error) {
	name, password, found := strings.Cut(s, ":")
	p.word = found
	if p.user, err = url.PathUnescape(name); err == nil {
		p.password, err = url.PathUnescape(password)
	}
	if err != nil || p.user == "" {
		return errEscape
	}
	return nil
}

var plainHost = regexp.MustCompile(`^([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::([0-9]{1,5}))?$`)

// host checks host or host:port.
func host(s string) (port, ok bool) {
	m := plainHost.FindStringSubmatch(s)
	if m == nil {
		return false, false
	}
	n, err := strconv.ParseUint(m[2], 10, 16)
	return m[2] != "", m[2] == "" || err == nil && n > 0
}

// shown has neither user nor password, and says whether there are any.
func shown(scheme, user string, hosts []string, name, options string) string {
	if user != "" {
		user = "***@"
	}
	if options != "" {
		options = "?" + options
	}
	return scheme + "://" + user + strings.Join(hosts, ",") + "/" + name + options
}

// CheckController refuses what is not the URL of a controller.
func CheckController(s string) error {
	u, err := url.Parse(s)
	if err == nil && u.User == nil && u.Scheme == "https" && (u.Path == "" || u.Path == "/") && u.RawQuery == "" && !u.ForceQuery && !strings.Contains(s, "#") {
		if _, ok := host(u.Host); ok {
			return nil
		}
	}
	return errors.New("not the URL of a controller: write https://NAME:PORT, without user, password or path")
}

// Word returns a word of a command line as an error may quote it: what looks like an address may have a password.
func Word(s string) string {
	if strings.Contains(s, "@") || strings.Contains(s, "://") && !plainURL.MatchString(s) {
		return "(an address)"
	}
	return s
}

var plainURL = regexp.MustCompile(`^[a-z+]+://[A-Za-z0-9._-]*(:[0-9]+)?/?$`)

// FilePrefix is how a value begins that names a file with the address in place of having it.
const FilePrefix = "file:"

var credential = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]*$`)

// File returns the file that a value names: an absolute path, or the name of a credential of the service.
func File(value string) (name string, is bool, err error) {
	name, is = strings.CutPrefix(value, FilePrefix)
	if is && !strings.HasPrefix(name, "/") && !credential.MatchString(name) {
		err = errors.New("not the name of a file: write file:/PATH, or file:NAME for a credential of the service")
	}
	return name, is, err
}
