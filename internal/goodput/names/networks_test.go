package names

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/tcp/record"
)

func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "tenants" {
				ts, err := ParseTenants([]byte(d.Input))
				if err != nil {
					return err.Error()
				}
				return fmt.Sprintf("%+v", ts)
			}
			table, err := ParseNetworks([]byte(d.Input))
			if err != nil {
				return err.Error()
			}
			var out strings.Builder
			for _, arg := range d.CmdArgs {
				p, err := record.ParsePrefix(arg.Key)
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&out, "%s: %q\n", p, table.Of(p))
			}
			return out.String()
		})
	})
}

func TestFilesAreNamed(t *testing.T) {
	name := filepath.Join(t.TempDir(), "n.yml")
	if err := os.WriteFile(name, []byte("x: [1]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadNetworks(name); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "line 1: x") {
		t.Error(err)
	}
	if _, err := ReadTenants(name); err == nil || !strings.Contains(err.Error(), name) {
		t.Error(err)
	}
	if _, err := ReadNetworks(name + ".absent"); !os.IsNotExist(err) {
		t.Error(err)
	}
	if err := os.WriteFile(name, make([]byte, maxFile+1), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadTenants(name); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Error(err)
	}
}

// FuzzParse: a table or faults, never both, never a panic.
func FuzzParse(f *testing.F) {
	f.Add([]byte("a: [203.0.113.0/24, 2001:db8::/32]\nb: 0.0.0.0/0\n"))
	f.Add([]byte("a: {hosts: ['*.example'], addresses: ['::1'], ports: [443]}\n"))
	f.Add([]byte("a: &x [*x]\n? [1]\n: 2\n---\nb"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if table, err := ParseNetworks(b); (err == nil) == (table == nil) {
			t.Errorf("networks: %v, %v", table, err)
		}
		if ts, err := ParseTenants(b); err != nil && ts != nil {
			t.Errorf("tenants: %v, %v", ts, err)
		}
	})
}
