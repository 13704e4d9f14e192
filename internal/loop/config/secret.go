package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/congctl/congctl/internal/linux/plainfile"
	"github.com/congctl/congctl/internal/loop/address"
	"github.com/congctl/congctl/internal/strict"
)

// A fault is logged, stored as an event and shown to callers without a password. So no fault has the value of a key that may
// hold a secret (tag secret:"yes"), even of one that holds none unless a person confuses a file with what is in it.

// secrets are those keys.
var secrets = secretKeys(reflect.TypeFor[Config](), "")

func secretKeys(t reflect.Type, path string) map[string]bool {
	out := map[string]bool{}
	for i := range t.NumField() {
		f := t.Field(i)
		name := join(path, keyOf(f))
		if f.Tag.Get("secret") == "yes" {
			out[name] = true
		}
		if f.Type.Kind() == reflect.Struct {
			for k := range secretKeys(f.Type, name) {
				out[k] = true
			}
		}
	}
	return out
}

func withoutSecrets(fs strict.Faults) strict.Faults {
	for i := range fs {
		if secrets[fs[i].Field] {
			fs[i].Value = ""
		}
	}
	return fs
}

// Place is a key whose value is an address, which may have a password.
type Place struct {
	Key string
	At  *string
}

func (c *Config) places() []Place {
	return []Place{{"fleet.kafka", &c.Fleet.Kafka}, {"fleet.clickhouse", &c.Fleet.ClickHouse}}
}

// Shown returns c as a person may see it, without passwords.
func (c Config) Shown() Config {
	for _, p := range c.places() {
		*p.At = shownAddress(*p.At)
	}
	return c
}

func shownAddress(value string) string {
	if _, inFile, err := address.File(value); value == "" || inFile && err == nil {
		return value
	}
	if k, err := address.ParseKafka(value); err == nil {
		return k.String()
	}
	if c, err := address.ParseClickHouse(value); err == nil {
		return c.String()
	}
	return "***"
}

// CheckAddress checks a value that is an address, or names a file with one.
func CheckAddress[A any](value string, parse func(string) (A, error)) error {
	_, inFile, err := address.File(value)
	if !inFile && value != "" {
		_, err = parse(value)
	}
	return err
}

func checkAddress[A any](fs *strict.Faults, field, value string, parse func(string) (A, error)) {
	if err := CheckAddress(value, parse); err != nil {
		fs.Add(field, "", err.Error(), "")
	}
}

// Exposed adds a fault for each address with a login; exposed says how others may read the file in which it stands.
func Exposed(fs *strict.Faults, exposed error, places ...Place) {
	for _, p := range places {
		if exposed != nil && strings.Contains(*p.At, "@") {
			fs.Add(p.Key, "", "a password: "+exposed.Error(), "or write file:/PATH, a file with the address")
		}
	}
}

// ErrNoCredentials is an address in a credential of a service, read by a process that is not it.
var ErrNoCredentials = errors.New("there is no $CREDENTIALS_DIRECTORY")

// maxAddress of a file with an address, in bytes.
const maxAddress = 64 << 10

// Address returns the address that a value is, or that is in the file which it names. Credentials are below
// $CREDENTIALS_DIRECTORY, as systemd's LoadCredential= has it.
func Address(field, value string) (string, error) {
	name, inFile, err := address.File(value)
	if err == nil && !inFile {
		return value, nil
	}
	if dir := os.Getenv("CREDENTIALS_DIRECTORY"); err == nil && !filepath.IsAbs(name) {
		if dir == "" {
			return "", fmt.Errorf("read %s: %w: run it by a unit with LoadCredential=%s:/PATH, or write %s/PATH", field, ErrNoCredentials, name, address.FilePrefix)
		}
		name = filepath.Join(dir, name)
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", field, err)
	}
	a, err := ReadAddress(name)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", field, err)
	}
	return a, nil
}

// ReadAddress reads a file with an address, which only its owner may read.
func ReadAddress(name string) (string, error) {
	b, err := plainfile.ReadSecret(name, maxAddress)
	return strings.TrimSpace(string(b)), err
}

// CheckAddresses also reads the files that have addresses. The error is [ErrNoCredentials] if only a service can.
func (c Config) CheckAddresses() error {
	kafka, err1 := Address("fleet.kafka", c.Fleet.Kafka)
	clickhouse, err2 := Address("fleet.clickhouse", c.Fleet.ClickHouse)
	var fs strict.Faults
	checkAddress(&fs, "fleet.kafka", kafka, address.ParseKafka)
	checkAddress(&fs, "fleet.clickhouse", clickhouse, address.ParseClickHouse)
	return errors.Join(fs.Err(), err1, err2)
}
