package popreport

import (
	"bytes"
	"compress/gzip"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/popday"
)

// TestCostOfAFolder: a stranger's, whatever is in it; measured: 10 ms and 8 MB.
func TestCostOfAFolder(t *testing.T) {
	write := func(name string, b []byte) func(string) error {
		return func(run string) error { return os.WriteFile(filepath.Join(run, name), b, 0o600) }
	}
	grown := func(name string) func(string) error {
		return func(run string) error { return os.Truncate(filepath.Join(run, name), 8<<40) }
	}
	whole, src := folder(t, []uint64{1}, "observe")
	one := `{"network":0,"session":0,"request":0,"start_us":1,"first_us":1,"end_us":2,"asked_bytes":1,"got_bytes":1,"fresh":true,"http2":false,"cong":"cubic","sent_bytes":1,"retrans_bytes":0,"min_rtt_us":1}`
	for name, c := range map[string]struct {
		do   func(run string) error
		want string
	}{
		"600 MB of empty responses":        {write(popday.ResponsesFile, bomb(t, "{}\n", 600<<20)), "congctl did not write"},
		"600 MB of responses":              {write(popday.ResponsesFile, bomb(t, one+"\n", 600<<20)), "congctl did not write it"},
		"600 MB of one line":               {write(popday.ResponsesFile, bomb(t, "x", 600<<20)), "token too long"},
		"empty responses, packed a little": {write(popday.ResponsesFile, bomb(t, "{}\n", 60_000)), "congctl did not write them"},
		"8 TiB of facts":                   {grown(popday.FactsFile), "more than 8 MiB"},
		"8 TiB of a day":                   {grown(popday.DayFile), "more than 1 MiB"},
		"empty networks":                   {write(popday.FactsFile, []byte(`{"policy":"a","seed":1,"networks":[`+strings.Repeat("{},", 2<<20)+`{}]}`)), "congctl did not write it"},
		"nulls":                            {write(popday.FactsFile, []byte(`{"policy":"a","seed":1,"networks":[`+strings.Repeat("null,", 3<<19)+`{}]}`)), "congctl did not write it"},
		"a FIFO":                           {replaced(popday.ResponsesFile, func(p string) error { return syscall.Mkfifo(p, 0o600) }), "a FIFO"},
		"endless":                          {replaced(popday.ResponsesFile, func(p string) error { return os.Symlink("/dev/zero", p) }), "a device"},
	} {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		if err := c.do(filepath.Join(dir, "observe-1")); err != nil {
			t.Fatal(err)
		}
		cost, err := costtest.Of(func() error { _, err := Read(t.Context(), dir, src); return err })
		if err == nil || !strings.Contains(err.Error(), c.want) || cost.Over() != "" {
			t.Errorf("%s: %v, %s", name, err, cost.Over())
		}
		t.Logf("%s: %+v", name, cost)
	}
}

func replaced(name string, with func(path string) error) func(string) error {
	return func(run string) error {
		path := filepath.Join(run, name)
		return errors.Join(os.Remove(path), with(path))
	}
}

// bomb packs text repeated to so many bytes.
func bomb(t *testing.T, text string, size int) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	part := max(1, min(size, 1<<20)/len(text))
	_, err := z.Write([]byte(strings.Repeat(text, part)))
	if err := errors.Join(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return bytes.Repeat(b.Bytes(), size/(part*len(text))) // gzip joins its members
}

// A folder of thousands of links to one run.
func TestManyRuns(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "observe")
	for i := range maxRuns {
		if err := os.Symlink("observe-1", filepath.Join(dir, "r"+strings.Repeat("x", i%200)+string(rune('a'+i/200)))); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Read(t.Context(), dir, src); err == nil || !strings.Contains(err.Error(), "1001 runs; at most 1000") {
		t.Error(err)
	}
}

// A report goes into the folder and through no link in it.
func TestWriteThroughNoLink(t *testing.T) {
	dir, src := folder(t, []uint64{1}, "observe", "cubic")
	outside := filepath.Join(t.TempDir(), "precious")
	if err := os.WriteFile(outside, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, link := range map[string]func(old, new string) error{JSONFile: os.Symlink, MarkdownFile: os.Link, PageFile: os.Symlink} {
		if err := link(outside, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, _ = reported(t, dir, src)
	if b, err := os.ReadFile(outside); err != nil || string(b) != "precious" {
		t.Errorf("%.40q, %v", b, err)
	}
	if info, err := os.Lstat(filepath.Join(dir, JSONFile)); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
}
