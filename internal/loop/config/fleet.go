package config

import (
	"cmp"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"regexp"
	"strings"
	"time"

	"github.com/congctl/congctl/internal/loop/address"
	"github.com/congctl/congctl/internal/strict"
)

// Fleet is for hosts that share a controller: the verbs agent and controller.
type Fleet struct {
	Controller []string      `yaml:"controller" secret:"yes"` // URLs, for agents and verbs: several controllers share the PoPs
	PlanKeys   []PlanKey     `yaml:"plan_keys" secret:"yes"`  // whose plans an agent takes
	Listen     string        `yaml:"listen"`                  // address and port of the controller
	PoPs       []string      `yaml:"pops"`                    // that the controller decides for
	Cert       string        `yaml:"cert"`                    // PEM, as key and ca
	Key        string        `yaml:"key" secret:"yes"`        //
	CA         string        `yaml:"ca"`                      //
	Revoked    []Revoked     `yaml:"revoked"`                 // whose certificates are trusted no longer
	TokenFile  string        `yaml:"token_file" secret:"yes"` // of verbs, in place of cert and key
	Kafka      string        `yaml:"kafka" secret:"yes"`      // where agents send records, and by which controllers share PoPs; "": neither
	ClickHouse string        `yaml:"clickhouse" secret:"yes"` // where the controller reads them; "": its agents send them
	Lateness   time.Duration `yaml:"lateness" scale:"yes"`    // after a window's end
	Budget     int64         `yaml:"budget"`                  // bytes per second of records; 0: no limit
	SpoolBytes int64         `yaml:"spool_bytes"`             // of an agent's undelivered records, and of each PoP's at the controller
}

// PlanKey is an Ed25519 public key, in a file 64 hex digits.
type PlanKey string

// UnmarshalText reads 64 hex digits.
func (k *PlanKey) UnmarshalText(b []byte) error {
	if raw, err := hex.DecodeString(string(b)); err != nil || len(raw) != ed25519.PublicKeySize {
		return fmt.Errorf("not a key: 64 hex digits, as `congctl controller` logs them at its start")
	}
	*k = PlanKey(strings.ToLower(string(b)))
	return nil
}

// MarshalText writes k as a file has it.
func (k PlanKey) MarshalText() ([]byte, error) { return []byte(k), nil }

// Public returns the key.
func (k PlanKey) Public() ed25519.PublicKey {
	raw, _ := hex.DecodeString(string(k)) // UnmarshalText has seen it
	return raw
}

// Revoked is a name in certificates, as congctl://agent/ams/edge-1, or a certificate's serial number in lower-case hex,
// without zeros before it.
type Revoked string

var (
	certName = regexp.MustCompile(`^congctl://(agent/[\w.-]{1,63}|controller|operator|viewer)/[\w.-]{1,63}$`)
	serial   = regexp.MustCompile(`^[0-9a-f]{1,40}$`) // 20 bytes (RFC 5280, 4.1.2.2)
)

// UnmarshalText reads either; a serial number as openssl and other tools print it.
func (r *Revoked) UnmarshalText(b []byte) error {
	text := string(b)
	if !certName.MatchString(text) {
		if text = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(text, "serial="), ":", "")); !serial.MatchString(text) {
			return errors.New("neither a name as events have it, congctl://operator/ann, nor a serial number in hex, as `openssl x509 -noout -serial` prints it")
		}
		text = cmp.Or(strings.TrimLeft(text, "0"), "0")
	}
	*r = Revoked(text)
	return nil
}

// MarshalText writes r as a file may have it.
func (r Revoked) MarshalText() ([]byte, error) { return []byte(r), nil }

func (c Config) checkFleet(fs *strict.Faults) {
	f := c.Fleet
	for _, at := range f.Controller {
		if err := address.CheckController(at); err != nil {
			fs.Add("fleet.controller", "", err.Error(), "")
		}
	}
	checkAddress(fs, "fleet.kafka", f.Kafka, address.ParseKafka)
	checkAddress(fs, "fleet.clickhouse", f.ClickHouse, address.ParseClickHouse)
	if _, port, err := net.SplitHostPort(f.Listen); err != nil || port == "" {
		fs.Add("fleet.listen", f.Listen, "not an address with a port", "write :9477 for all addresses, or 192.0.2.1:9477")
	}
	for i, p := range f.PoPs {
		if !popName.MatchString(p) {
			fs.Add("fleet.pops", p, "not a name", `use letters, digits, ".", "_" and "-", at most 64`)
		}
		for _, q := range f.PoPs[:i] {
			if p == q {
				fs.Add("fleet.pops", p, "listed twice", "keep one")
			}
		}
	}
	absolute(fs, "fleet.cert", f.Cert, true)
	absolute(fs, "fleet.key", f.Key, true)
	absolute(fs, "fleet.ca", f.CA, true)
	absolute(fs, "fleet.token_file", f.TokenFile, true)
	if f.Lateness < 100*time.Millisecond || f.Lateness > c.Window/2 {
		fs.Add("fleet.lateness", FormatDuration(f.Lateness), "not from 100ms to half a window, "+FormatDuration(c.Window/2), "the default is a tenth of the window")
	}
	if f.Budget < 0 || f.Budget > 0 && f.Budget < 1000 {
		fs.Add("fleet.budget", fmt.Sprint(f.Budget), "not 0 and below 1000", "0 is no limit")
	}
	if f.SpoolBytes < 1<<20 {
		fs.Add("fleet.spool_bytes", fmt.Sprint(f.SpoolBytes), "less than 1 MiB", "the default is 1073741824")
	}
}
