package accesslog

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"

	"github.com/congctl/congctl/internal/strict"
)

func TestGolden(t *testing.T) {
	datadriven.Walk(t, "testdata/golden", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var name string
			d.ScanArgs(t, "format", &name)
			f, err := ParseFormat(name)
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			for i, line := range strings.Split(d.Input, "\n") {
				r, err := f.Decode(int64(i+1), []byte(line))
				if err != nil {
					fmt.Fprintln(&out, err)
					continue
				}
				fmt.Fprintf(&out, "%s -> %s host=%q %d us (wait %d) to %d, %d bytes (sent %d), %s, request %d\n",
					r.Server, r.Client, r.Host, r.EndUs-r.StartUs, r.WaitUs, r.EndUs, r.BodyBytes, r.SentBytes, r.Protocol, r.Request)
			}
			return out.String()
		})
	})
}

func TestParseFormatNamesTheKnownOnes(t *testing.T) {
	_, err := ParseFormat("json")
	if err == nil || !strings.Contains(err.Error(), "nginx-json, apache or congctl") {
		t.Error(err)
	}
}

func TestLongLine(t *testing.T) {
	_, err := Lines.Decode(7, make([]byte, MaxLine+1))
	if f, ok := errors.AsType[*strict.Fault](err); !ok || f.Line != 7 || len(err.Error()) > 300 {
		t.Errorf("%v", err)
	}
}

// FuzzDecode: a response or an error, never both, never a panic; and what was read
// prints as a line of ours that reads as the same.
func FuzzDecode(f *testing.F) {
	f.Add(`{"msec":"1795303652.419","request_time":"1.2","remote_addr":"203.0.113.7","remote_port":"1","server_port":"80","server_protocol":"HTTP/1.1","bytes_sent":"1","body_bytes_sent":"1","connection_requests":"1"}`)
	f.Add(`203.0.113.7 - - [21/Nov/2026:23:27:57 +0000] "GET /\" HTTP/2.0" 200 - "-" "\\" 48004 2001:db8::1 80 www.example 300244 0 1795303677095981 315 132`)
	f.Add(`{"start_us":1795303677095666,"end_us":1795303677095981,"wait_us":132,"client":"203.0.113.7","client_port":48004,"server":"192.0.2.1","server_port":80,"host":"w\u00e9","sent_bytes":300244,"body_bytes":300000,"protocol":"HTTP/1.1","request":1}`)
	f.Fuzz(func(t *testing.T, line string) {
		for _, format := range []Format{NginxJSON, Apache, Lines} {
			r, err := format.Decode(1, []byte(line))
			if err != nil {
				if r != (Response{}) {
					t.Fatalf("%s: both a response and %v", format, err)
				}
				continue
			}
			if !utf8.ValidString(r.Host) {
				continue // JSON holds nothing else
			}
			again, err := Lines.Decode(1, lineText(&r))
			if err != nil || again != r {
				t.Fatalf("%s: %+v reads back as %+v, %v", format, r, again, err)
			}
		}
	})
}

// line is a response as decodeLine reads it.
type line struct {
	StartUs    int64  `json:"start_us"`
	EndUs      int64  `json:"end_us"`
	WaitUs     int64  `json:"wait_us,omitempty"`
	Client     string `json:"client"`
	ClientPort uint16 `json:"client_port"`
	Server     string `json:"server,omitempty"`
	ServerPort uint16 `json:"server_port"`
	Host       string `json:"host,omitempty"`
	SentBytes  uint64 `json:"sent_bytes"`
	BodyBytes  uint64 `json:"body_bytes"`
	Protocol   string `json:"protocol"`
	Request    uint32 `json:"request,omitempty"`
}

// lineText is r in our own format.
func lineText(r *Response) []byte {
	text, _ := json.Marshal(line{ // no field of it can fail
		StartUs: r.StartUs, EndUs: r.EndUs, WaitUs: r.WaitUs, Client: addrText(r.Client.Addr()), ClientPort: r.Client.Port(),
		Server: addrText(r.Server.Addr()), ServerPort: r.Server.Port(), Host: r.Host,
		SentBytes: r.SentBytes, BodyBytes: r.BodyBytes, Protocol: r.Protocol.String(), Request: r.Request,
	})
	return text
}

func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}
