package config

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// marker is in each piece of the secrets of these tests.
const marker = "Zq7"

var secretWords = []string{marker, "Zq7/Zq7?Zq7=Zq7", "Zq7#Zq7", "Zq7@Zq7", "Zq7,Zq7,Zq7", "Zq7: Zq7", "*Zq7", "&Zq7 Zq7", "{Zq7: Zq7}", "[Zq7", "'Zq7", "\"Zq7", "Zq7\n  Zq7", "Zq7\nZq7", "- Zq7", "!Zq7 x", "%Zq7", "|Zq7",
	"Endpoint=sb://Zq7.servicebus.windows.net/;SharedAccessKeyName=Zq7;SharedAccessKey=Zq7/+Zq7=;EntityPath=Zq7", "-----BEGIN PRIVATE KEY-----\n    Zq7\n    -----END PRIVATE KEY-----"}

// files are configurations in which a secret is where it should be, or a slip away from there.
func files(key, word string) (list []string) {
	for _, address := range []string{"%s", "kafkas://svc:%s@b1:9093/t", "kafka+tls://svc:%s@h:9093/t", "clickhouse+tls://svc:%s@h/d", "clickhouse://svc:%s@h/bad-db", "https://svc:%s@h", "tcp://svc:%s@h:9000/d", "kafka+tls://svc:%s@h:9093/bad topic", "file:%s/x"} {
		v := fmt.Sprintf(address, word)
		for _, form := range []string{"fleet: {%s: %q}\nwindow: x\n", "fleet: {%s: %s}\nwindow: x\n", "fleet:\n  %s: %s\nwindow: x\n", "fleet:\n  %s:%s\nwindow: x\n", "fleet:\n  %s %s\nwindow: x\n", "fleet:\n  x%s: %q\n",
			"fleet: {%s: [%q, %[2]q]}\nwindow: x\n", "fleet: {%s: {a: %q}}\nwindow: x\n", "fleet: {%s: &a %q}\nwindow: x\n", "fleet: {%s: a, %[1]s: %q}\nwindow: x\n", "%s: %q\n", "fleet: %[2]q # %[1]s\n", "fleet: {%[2]q: %[1]s}\n", "%[2]s # %[1]s\n", "fleet: {? {%s: %q}}\n", "fleet: {%s: |\n    %s\n  }\nwindow: x\n", "fleet:\n  %s: |\n    %s\nwindow: x\n"} {
			if address == "%s" && (strings.HasPrefix(form, "fleet: {%[2]") || strings.HasPrefix(form, "%[2]")) {
				continue // a word where keys stand is a key that does not exist
			}
			list = append(list, fmt.Sprintf(form, key, v))
		}
	}
	return list
}

// TestFaultsHaveNoSecret of any key that may hold one, however it is written.
func TestFaultsHaveNoSecret(t *testing.T) {
	keys := slices.Sorted(maps.Keys(secrets))
	if want := []string{"fleet.clickhouse", "fleet.controller", "fleet.kafka", "fleet.key", "fleet.plan_keys", "fleet.token_file"}; !slices.Equal(keys, want) {
		t.Fatalf("%q", keys)
	}
	refused := 0
	for _, key := range keys {
		for _, word := range secretWords {
			for _, file := range files(strings.TrimPrefix(key, "fleet."), word) {
				_, faults := partly([]byte(file), nil) // which goes on after a fault of YAML
				if len(faults) > 0 {
					refused++
				}
				if strings.Contains(faults.Error(), marker) {
					t.Fatalf("%q: %v", file, faults)
				}
			}
		}
	}
	if refused < 10_000 {
		t.Errorf("only %d were refused", refused)
	}
}

func FuzzFaultsHaveNoSecret(f *testing.F) {
	for _, word := range secretWords {
		f.Add(word, "kafka")
	}
	f.Fuzz(func(t *testing.T, word, key string) {
		if !secrets["fleet."+key] || strings.Contains(word, "\n") { // which begins a key of its own
			return
		}
		for _, v := range []string{marker + word, word + marker} {
			for _, file := range []string{"fleet:\n  " + key + ": kafka+tls://svc:" + v + "@h:9093/t\n", fmt.Sprintf("fleet: {%s: %q}\n", key, "kafka+tls://svc:"+v+"@h:9093/t")} {
				if _, err := Parse([]byte(file)); err != nil && strings.Contains(err.Error(), marker) {
					t.Errorf("%q: %v", file, err)
				}
			}
		}
	})
}

const withPasswords = "fleet: {kafka: \"kafka+tls://svc:Zq7@b:9093/t?sasl=plain\", clickhouse: \"clickhouse://svc:Zq7@h:9000/d\"}\n"

// TestShown: what verbs, events and reports show of a configuration.
func TestShown(t *testing.T) {
	c, err := Parse([]byte(withPasswords))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Parse([]byte(strings.ReplaceAll(withPasswords, marker, "Zq78")))
	if err != nil {
		t.Fatal(err)
	}
	text, err1 := c.Shown().Text()
	differ, err2 := c.Differences()
	come, err3 := Changes(Default(), c)
	change, err4 := Changes(c, other)
	all := fmt.Sprintf("%s\n%v\n%v\n%v", text, differ, come, change)
	if err := errors.Join(err1, err2, err3, err4); err != nil || strings.Contains(all, marker) || strings.Count(all, "kafka+tls://***@b:9093/t?sasl=plain") != 3 {
		t.Errorf("%v in\n%s", err, all)
	}
	if len(change) != 2 || change[0] != "fleet.kafka has another user or password" {
		t.Errorf("%q", change)
	}
	if c.Fleet.Kafka != "kafka+tls://svc:Zq7@b:9093/t?sasl=plain" {
		t.Errorf("Shown changed it to %s", c.Fleet.Kafka)
	}
	whole := Default()
	whole.Fleet.Kafka, whole.Fleet.ClickHouse = "Zq7", "file:/x"
	if s := whole.Shown().Fleet; s.Kafka != "***" || s.ClickHouse != "file:/x" {
		t.Errorf("%+v", s)
	}
}

// TestFilesThatOthersMayRead may have no password; those without one may have any mode.
func TestFilesThatOthersMayRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "c.yml")
	for _, c := range []struct {
		text string
		mode os.FileMode
		want string
	}{
		{withPasswords, 0o600, ""}, {withPasswords, 0o400, ""}, {"pop: a\n", 0o644, ""}, {"fleet: {kafka: kafka://h:1/t}\n", 0o644, ""}, {"fleet: {kafka: file:/x}\n", 0o644, ""},
		{withPasswords, 0o644, "chmod 600 " + name}, {withPasswords, 0o640, "has mode 640"}, {withPasswords, 0o604, "has mode 604"},
	} {
		if err := errors.Join(os.WriteFile(name, []byte(c.text), 0o600), os.Chmod(name, c.mode)); err != nil {
			t.Fatal(err)
		}
		for what, read := range map[string]func(string) (Config, error){"Read": Read, "ReadPartly": ReadPartly, "ReadPolicy": ReadPolicy} {
			_, err := read(name)
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), "a password") != 2 || strings.Contains(err.Error(), marker)) {
				t.Errorf("%s of %q with mode %o: %v", what, c.text, c.mode, err)
			}
		}
		if err := os.Chmod(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestAddressInAFile, named by its path or as a credential of the service.
func TestAddressInAFile(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "kafka")
	if err := os.WriteFile(name, []byte("kafka+tls://svc:Zq7/@h:9093/t\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", "")
	if a, err := Address("fleet.kafka", "file:"+name); err != nil || a != "kafka+tls://svc:Zq7/@h:9093/t" {
		t.Errorf("%q, %v", a, err)
	}
	if _, err := Address("fleet.kafka", "file:kafka"); !errors.Is(err, ErrNoCredentials) || !strings.Contains(err.Error(), "LoadCredential=kafka:") {
		t.Error(err)
	}
	t.Setenv("CREDENTIALS_DIRECTORY", dir)
	if a, err := Address("fleet.kafka", "file:kafka"); err != nil || !strings.HasPrefix(a, "kafka+tls://") {
		t.Errorf("%q, %v", a, err)
	}
	c, err := Parse([]byte("fleet: {kafka: file:kafka, clickhouse: file:none}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.CheckAddresses(); err == nil || !strings.Contains(err.Error(), "%2F for /") || !strings.Contains(err.Error(), "read fleet.clickhouse") || strings.Contains(err.Error(), marker) {
		t.Errorf("%v: the file's fault is one", err)
	}
	if err := os.Chmod(name, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Address("fleet.kafka", "file:kafka"); err == nil || !strings.Contains(err.Error(), "chmod 600 "+name) {
		t.Error(err)
	}
	if a, err := Address("fleet.kafka", "kafka://h:1/t"); err != nil || a != "kafka://h:1/t" {
		t.Errorf("%q, %v", a, err)
	}
}
