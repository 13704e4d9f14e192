package link

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/congctl/congctl/internal/fleet/store/mtls/mtlstest"
)

// TestUnpack: what cannot be compressed comes whole up to the limit, and one byte beyond it, which says that there is more.
func TestUnpack(t *testing.T) {
	const most = 1 << 20
	noise := make([]byte, most+2)
	_, _ = rand.NewChaCha8([32]byte{}).Read(noise)
	for _, k := range kinds {
		d := k.upTo(most)()
		for _, size := range []int{0, 1, most, most + 1, most + 2} { // by one decoder, as from a pool
			var packed bytes.Buffer
			c := k.pack()
			c.Reset(&packed)
			if _, err := c.Write(noise[:size]); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(c.Close(), d.Reset(&packed)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(d)
			if size > most+1 && !errors.Is(err, errTooLong) || size <= most && err != nil || !bytes.Equal(got, noise[:min(size, most+1)]) {
				t.Errorf("%s: %d of %d bytes, %v", k.name, len(got), size, err)
			}
			if err := d.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestLengthOfAnOrder: at the length of a message that is too long the stream ends. Nothing of it is waited for.
func TestLengthOfAnOrder(t *testing.T) {
	a := mtlstest.New(t)
	url := serveHandler(t, open(t, a.Issue(self)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/connect+proto")
		_, _ = w.Write([]byte{0, 0xff, 0xff, 0xff, 0xff}) // 4 GiB
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	ended := make(chan error, 1)
	go func() { ended <- client(t, url, a.Issue(host)).Follow(t.Context(), Have{}, func(Order) {}) }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "plan.max") {
			t.Error(err)
		}
	case <-time.After(patience):
		t.Error("it waits for the message")
	}
}
