package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/change"
	"github.com/congctl/congctl/internal/costtest"
	"github.com/congctl/congctl/internal/fleet/store/batchlog"
	"github.com/congctl/congctl/internal/fleet/store/clickhouse"
	"github.com/congctl/congctl/internal/fleet/store/commitlog"
	"github.com/congctl/congctl/internal/fleet/store/inbox"
	"github.com/congctl/congctl/internal/fleet/store/link"
	"github.com/congctl/congctl/internal/fleet/store/link/fleetv1"
	"github.com/congctl/congctl/internal/fleet/store/mtls"
	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/loop/control"
	"github.com/congctl/congctl/internal/loop/plan"
	"github.com/congctl/congctl/internal/loop/store/wire"
	"github.com/congctl/congctl/internal/loop/store/wire/wiretest"
	"github.com/congctl/congctl/internal/popday"
	"github.com/congctl/congctl/internal/simulate"
	"github.com/congctl/congctl/internal/tcp/record"
)

// door is a path by which bytes from outside become values: of an agent, a broker's client, a local user, a web server's client,
// whoever wrote a file. What only its operator writes, and what needs a socket of its own, is not here: TestCostOfRefusing,
// TestFloodOfThePage.
type door struct {
	name string
	do   func([]byte) error
}

// openDoors opens each as the product does.
func openDoors(t testing.TB) []door {
	dir := t.TempDir()
	in, err := inbox.Open(inbox.Options{Dir: filepath.Join(dir, "inbox"), PoP: "chi", WindowSeconds: 300, MaxBytes: 1 << 30}, doorsNow)
	check(t, err)
	t.Cleanup(func() { check(t, in.Shut()) })
	rows := new(clickhouse.Store).NewWriter(0)
	view := control.NewHandler(slog.New(slog.DiscardHandler), func(context.Context) string { return "a user" })
	pretended := pretend(10)
	control.HandleView(view, pretended)
	control.HandleActions(view, pretended)
	doors := []door{
		{"a records file", func(b []byte) error { _, err := wire.Read(bytes.NewReader(b), dropped); return err }},
		{"a batch of Kafka", rows.Add},
		{"a commit of Kafka", func(b []byte) error { _, err := commitlog.ReadHalt(b, "chi", unsigned{}); return err }},
		{"a push", func(b []byte) error { return in.Take("edge-1", b, doorsNow) }},
		{logOfBatches, func(b []byte) error {
			folder, err := os.MkdirTemp(dir, "log")
			defer os.RemoveAll(folder)
			if err := errors.Join(err, os.WriteFile(filepath.Join(folder, "00000000000000000001.pb"), b, 0o600)); err != nil {
				panic(err) // and not the test's: it may be a fuzz target's
			}
			l, err := batchlog.Open(batchlog.Options{Dir: folder, MaxBytes: 1 << 30})
			return errors.Join(err, closed(l))
		}},
		{"a plan", func(b []byte) error { _, _, err := plan.Parse(b); return longestLine(err) }},
		{"a history", func(b []byte) error { _, err := simulate.ReadHistory(bytes.NewReader(b), 300, nil); return err }},
		{"a day's responses", func(b []byte) error { _, err := popday.ReadResponses(bytes.NewReader(b), 3); return err }},
		{"a journal", func(b []byte) error { _, err := change.Parse(b); return err }},
	}
	for _, f := range []accesslog.Format{accesslog.NginxJSON, accesslog.Apache, accesslog.Lines} {
		doors = append(doors, door{fmt.Sprintf("a line of an access log, %v", f), func(b []byte) error { _, err := f.Decode(1, b); return err }})
	}
	for _, q := range []string{"status", "prefixes", "stop", "push"} {
		doors = append(doors, door{"a request for " + q, func(b []byte) error { return knock(view, "/v1/"+q, "", b) }})
	}
	_, fleet := link.NewHandler(pushes{in})
	agent := link.Recognized(fleet, nil, mtls.Identity{Role: mtls.Agent, PoP: "chi", Name: "edge-1"}, nil)
	for _, path := range []string{fleetv1.FleetPushProcedure, fleetv1.FleetFollowProcedure, fleetv1.FleetReportProcedure} {
		for _, kind := range []string{"application/proto", "application/json"} {
			doors = append(doors, door{path + " as " + kind, func(b []byte) error { return knock(agent, path, kind, b) }})
		}
		for _, kind := range []string{"application/connect+proto", "application/grpc"} {
			doors = append(doors, door{path + " as " + kind, func(b []byte) error {
				return knock(agent, path, kind, append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(b))), b...))
			}})
		}
	}
	return doors
}

// longestLine of a plan's faults: a person reads twenty of them, and a log takes a line.
func longestLine(err error) (longest error) {
	if err == nil {
		return nil
	}
	text := ""
	for line := range strings.Lines(err.Error()) {
		if len(line) > len(text) {
			text = line
		}
	}
	return errors.New(text)
}

const (
	doorsNow     = 1_767_322_800
	logOfBatches = "a log of batches"
)

func dropped(*wire.Header, *record.Conn) error { return nil }

func closed(l *batchlog.Log) error {
	if l == nil {
		return nil
	}
	return l.Close()
}

func knock(h http.Handler, path, kind string, body []byte) error {
	w, r := httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body))
	r.Header.Set("Content-Type", kind)
	h.ServeHTTP(w, r)
	said, answer := w.Result().Trailer.Get("Grpc-Message"), w.Body.String()
	if w.Code == http.StatusOK && said == "" && !strings.Contains(answer, `{"error"`) {
		return nil
	}
	return errors.New(said + answer)
}

type pushes struct{ *inbox.Inbox }

func (p pushes) Push(_ context.Context, from mtls.Identity, frames []byte) error {
	return p.Take(from.Name, frames, doorsNow)
}
func (pushes) Follow(context.Context, mtls.Identity, link.Have, func(link.Order) error) error {
	return io.EOF
}
func (pushes) Report(context.Context, mtls.Identity, link.Report) error { return nil }

// unsigned believes no signature.
type unsigned struct{}

func (unsigned) Sign(mtls.Purpose, []byte) ([]byte, [][]byte, error) { return nil, nil, io.EOF }
func (unsigned) Verify(mtls.Purpose, []byte, []byte, [][]byte, time.Time) (mtls.Identity, error) {
	return mtls.Identity{}, io.EOF
}

// everyInput yields what each door is shown: batches that no agent sends, and size bytes of what makes parsers work.
func everyInput(size int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, in := range wiretest.Hostile(wire.Header{Host: "edge-1", PoP: "chi", Boot: record.BootID{1}, Sequence: 1}, doorsNow, 300) {
			if !yield(in.Name, in.Body) || !yield("framed: "+in.Name, in.Frame()) {
				return
			}
		}
		for _, head := range []string{"", "congctl plan 1\n", `{"states":[`} {
			for _, part := range []string{"\x00", "\xff", "[", "{", `{"a":`, `"`, `\`, `\u0001`, `"a",`, " ", "\n", "a", "9", "1,", "{}\n", "{}", "- ", "a: ", "\x1b[2J", "\x0a\x00"} {
				if !yield(fmt.Sprintf("%q, then %q", head, part), []byte(head+strings.Repeat(part, (size-len(head))/len(part)))) {
					return
				}
			}
		}
	}
}

// timesTaken is for what is taken, and not refused: 65,000 batches of no record, in a file of 2 MiB, take 0.08 s.
const timesTaken = 4

// good has what doors of text take, by the beginning of their names: a value that is too long is met only where a door reads
// values. Plans and what agents send have tests of their own, in their packages.
var good = map[string]string{
	"a history":                    `{"window_start":1795303500,"pop":"chi","prefix":"198.18.1.0/24","n":5,"delivery_rate_p50_bytes_per_s":1e5,"retrans_ratio":0.1}`,
	"a day's responses":            `{"network":1,"session":0,"request":2,"start_us":10,"first_us":20,"end_us":30,"asked_bytes":5,"got_bytes":5,"cong":"cubic","trouble":"reset"}`,
	"a line of an access log":      `{"start_us":1795303677095666,"end_us":1795303677095981,"wait_us":132,"client":"203.0.113.7","client_port":48004,"server":"192.0.2.1","server_port":80,"host":"www.example","sent_bytes":300244,"body_bytes":300000,"protocol":"HTTP/1.1","request":1}`,
	"a line of an access log, ngi": `{"msec":"1795303652.419","request_time":"1.2","remote_addr":"203.0.113.7","remote_port":"1","server_port":"80","server_protocol":"HTTP/1.1","bytes_sent":"1","body_bytes_sent":"1","connection_requests":"1"}`,
	"a line of an access log, apa": `203.0.113.7 - - [21/Nov/2026:23:27:57 +0000] "GET /a HTTP/2.0" 200 - "-" "curl" 48004 2001:db8::1 80 www.example 300244 0 1795303677095981 315 132`,
	"a request for prefixes":       `{"selected":true,"states":["trial"],"sort":"rate","limit":7}`,
	"a request for push":           `{"text":"congctl-plan 1","against":7}`,
	"a journal":                    string(change.Opening(change.Plan{Header: change.Header{ID: "000007-host", Subject: "host", Verb: "host enable bbr", Boot: "b1"}, Steps: []change.Step{{Kind: change.File, Target: "/etc/x.conf", New: change.FileText("a = b\n"), Why: "after a reboot"}}})),
}

// inflated yields text with each of its words made longer by size bytes.
func inflated(text string, size int) iter.Seq2[string, []byte] {
	return func(yield func(string, []byte) bool) {
		for _, at := range regexp.MustCompile(`\w+`).FindAllStringIndex(text, -1) {
			for _, with := range []string{"\xff", "9", "a", "\\", `\u0001`, " "} {
				if !yield(fmt.Sprintf("%q at %d", with, at[1]), []byte(text[:at[1]]+strings.Repeat(with, size/len(with))+text[at[1]:])) {
					return
				}
			}
		}
	}
}

// TestEveryDoorAtEachWord: a value costs what costtest says, however long it is.
func TestEveryDoorAtEachWord(t *testing.T) {
	met := map[string]bool{}
	for _, d := range openDoors(t) {
		for begins, text := range good {
			if !strings.HasPrefix(d.name, begins) {
				continue
			}
			met[begins] = met[begins] || d.do([]byte(text)) == nil
			for _, size := range []int{300, 60_000} { // what a line of the log has not, and what a request has
				for name, body := range inflated(text, size) {
					if _, over := costs(d, body); over != "" {
						t.Errorf("%s: %d bytes of %s: %s", d.name, size, name, over)
					}
				}
			}
		}
	}
	for begins := range good {
		if !met[begins] {
			t.Errorf("%s: no door takes its example", begins)
		}
	}
}

// costs is what a door pays, and the bound that this is above, if all of some tries are: on a busy machine one has the cost
// of others' work.
func costs(d door, body []byte) (c costtest.Cost, over string) {
	for range 10 {
		var err error
		c, err = costtest.Of(func() error { return d.do(body) })
		if over = c.Over(); over != "" && err == nil {
			over = costtest.Cost{CPU: c.CPU / timesTaken, Bytes: c.Bytes}.Over()
		}
		if over == "" {
			break
		}
	}
	return c, over
}

// TestEveryDoor: whatever comes to whichever door costs at most what costtest says. The worst of each is in the log of -v.
func TestEveryDoor(t *testing.T) {
	doors := openDoors(t)
	worst := make([]costtest.Cost, len(doors))
	sizes := []int{60_000, 2<<20 - 1<<10} // the most that a request has, and a push
	if testing.Short() {
		sizes = sizes[:1]
	}
	for _, size := range sizes {
		for name, body := range everyInput(size) {
			for i, d := range doors {
				c, over := costs(d, body)
				if over != "" {
					t.Errorf("%s: %s: %s", d.name, name, over)
				}
				worst[i] = costtest.Cost{CPU: max(worst[i].CPU, c.CPU), Bytes: max(worst[i].Bytes, c.Bytes), Text: max(worst[i].Text, c.Text)}
			}
		}
	}
	for i, d := range doors {
		t.Logf("%-60s %5.1f ms %6d kB %4d bytes of text", d.name, float64(worst[i].CPU.Microseconds())/1000, worst[i].Bytes>>10, worst[i].Text)
	}
}

// FuzzEveryDoor measures time and memory.
func FuzzEveryDoor(f *testing.F) {
	doors := slices.DeleteFunc(openDoors(f), func(d door) bool { return d.name == logOfBatches }) // which writes files, and has FuzzOpen
	for _, body := range everyInput(1 << 10) {
		f.Add(body[:min(len(body), 1<<10)])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, d := range doors {
			if _, over := costs(d, b); over != "" {
				t.Errorf("%s: %s", d.name, over)
			}
		}
	})
}
