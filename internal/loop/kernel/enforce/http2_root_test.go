package enforce

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// An HTTP/2 client sends WINDOW_UPDATE frames all through a download, so
// bytes_received grows all the time. The download must count as one response.
func TestHTTP2DownloadSwitches(t *testing.T) {
	r := newRig(t)
	r.standard()
	var protos http.Protocols
	protos.SetUnencryptedHTTP2(true)
	ends := make(chan outcome, 8)
	var conns sync.Map
	srv := &http.Server{
		Protocols: &protos,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			n := int64(small)
			if req.URL.Path == "/large" {
				n = 8_000_000
			}
			_, _ = io.CopyN(w, zeros{}, n)
			w.(http.Flusher).Flush()
			c, _ := conns.Load(req.RemoteAddr)
			ends <- look(t, c.(*net.TCPConn))
		}),
		ConnContext: func(ctx context.Context, c net.Conn) context.Context {
			conns.Store(c.RemoteAddr().String(), c)
			return ctx
		},
	}
	ln := listen(t, "tcp4", net.JoinHostPort(edge4.String(), "0"))
	go srv.Serve(ln)
	defer srv.Close()

	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: clientT.AsSlice()}}
	tr := &http.Transport{Protocols: &protos, DialContext: d.DialContext}
	defer tr.CloseIdleConnections()
	client := http.Client{Transport: tr, Timeout: patience}
	get := func(path string) outcome {
		t.Helper()
		res, err := client.Get("http://" + ln.Addr().String() + path)
		check(t, err)
		if res.ProtoMajor != 2 {
			t.Fatalf("protocol %s", res.Proto)
		}
		_, err = io.Copy(io.Discard, res.Body)
		check(t, err)
		check(t, res.Body.Close())
		return <-ends
	}
	for i := range 6 {
		if got := get("/small"); got.cong != "cubic" {
			t.Fatalf("small response %d on HTTP/2: %s", i, got.cong)
		}
	}
	if got := get("/large"); got.cong != "bbr" {
		t.Errorf("HTTP/2 download of 8 MB: %s", got.cong)
	}
	tr.CloseIdleConnections()
	if rec := r.next(); rec.Mark.Applied != record.AppliedTreatment || rec.BytesReceived < 200 {
		t.Errorf("%s, %d bytes received: %+v", rec.Mark.Applied, rec.BytesReceived, rec.Mark)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }
