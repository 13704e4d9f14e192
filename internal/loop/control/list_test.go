package control

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/loop/policy"
)

// flowing is a view of n prefixes that ends with an error.
type flowing struct {
	fake
	n   int
	end error
	bad float64
}

func (f *flowing) EachPrefix(_ context.Context, each func(*PrefixRow) error) error {
	for range f.n {
		row := someRows[0]
		if row.PerfBytesPerS += f.bad; each(&row) != nil {
			return io.ErrClosedPipe
		}
	}
	return f.end
}

func askFlow(t *testing.T, f *flowing, q PrefixesRequest) (int, string, error) {
	t.Helper()
	h := NewHandler(slog.New(slog.DiscardHandler), nil)
	HandleView(h, f)
	s := httptest.NewServer(h)
	defer s.Close()
	b, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/v1/prefixes", strings.NewReader(string(b)))
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Client().Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return res.StatusCode, string(text), err
}

// TestPrefixesFlow: what is asked for whole and by address comes row by row, an array as any other; all else at once.
func TestPrefixesFlow(t *testing.T) {
	all := PrefixesRequest{Sort: policy.ByAddress}
	for _, n := range []int{0, 1, 3000} {
		f := &flowing{n: n}
		status, text, err := askFlow(t, f, all)
		var rows []PrefixRow
		if jerr := json.Unmarshal([]byte(text), &rows); err != nil || jerr != nil || status != http.StatusOK || len(rows) != n || rows == nil || len(f.asked) != 0 || strings.Count(text, "\n") != n+1 {
			t.Errorf("%d: %d, %d rows, %v, %v, asked %q", n, status, len(rows), err, jerr, f.asked)
		}
	}
	for _, q := range []PrefixesRequest{{}, {Sort: policy.ByRate}, {Sort: policy.ByAddress, Limit: 5}, {Sort: policy.ByAddress, Selected: true}, {Sort: policy.ByAddress, States: []policy.State{policy.StateTrial}}} {
		if f := (&flowing{n: 3000}); true {
			if _, text, err := askFlow(t, f, q); err != nil || len(f.asked) != 1 || strings.Count(text, "203.0.113.0") != len(someRows) {
				t.Errorf("%+v: %v, asked %q", q, err, f.asked)
			}
		}
	}
}

// TestPrefixesFlowBreaks: an error is an answer before the first row, and after it no answer.
func TestPrefixesFlowBreaks(t *testing.T) {
	all := PrefixesRequest{Sort: policy.ByAddress}
	if status, text, err := askFlow(t, &flowing{end: errors.New("no rows today")}, all); err != nil || status != http.StatusInternalServerError || !strings.Contains(text, "no rows today") {
		t.Errorf("%d %s %v", status, text, err)
	}
	for _, f := range []*flowing{{n: 3000, end: errors.New("broken")}, {n: 1, end: errors.New("broken")}, {n: 2, bad: math.NaN()}} {
		if status, text, err := askFlow(t, f, all); err == nil {
			t.Errorf("%+v: %d, %d bytes", f, status, len(text))
		}
	}
}
