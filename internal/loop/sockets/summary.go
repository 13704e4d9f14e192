package sockets

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/congctl/congctl/internal/tcp/inetdiag"
)

// Count is one group of a summary.
type Count struct {
	Name    string `json:"name"`
	Sockets int    `json:"sockets"`
}

// Summary counts sockets. Each group but Cong adds up to Sockets: a socket without
// tcp_info has no known congestion control. Bytes are lifetime totals of the sockets alive
// now, as far as their kernel counts them.
type Summary struct {
	Sockets       int     `json:"sockets"`
	WithInfo      int     `json:"with_tcp_info"`
	BytesSent     uint64  `json:"bytes_sent"`
	BytesRetrans  uint64  `json:"bytes_retrans"`
	BytesAcked    uint64  `json:"bytes_acked"`
	BytesReceived uint64  `json:"bytes_received"`
	State         []Count `json:"state"`
	Family        []Count `json:"family"`
	Cong          []Count `json:"cong"`
	Netns         []Count `json:"netns"`
}

// Summarize counts a whole dump in constant memory.
func Summarize(from Source) (Summary, error) {
	var sum Summary
	states, families := map[uint8]int{}, map[uint8]int{}
	congs, spaces := map[inetdiag.Cong]int{}, map[string]int{}
	err := from(func(netns string, s *inetdiag.Sock) {
		sum.Sockets++
		states[s.State]++
		families[s.Family]++
		spaces[netns]++
		if s.Has&inetdiag.HasCong != 0 {
			congs[s.Cong]++
		}
		if s.Has&inetdiag.HasInfo != 0 {
			sum.WithInfo++
			sum.BytesSent += s.Info.BytesSent
			sum.BytesRetrans += s.Info.BytesRetrans
			sum.BytesAcked += s.Info.BytesAcked
			sum.BytesReceived += s.Info.BytesReceived
		}
	})
	sum.State = counts(states, inetdiag.StateName)
	sum.Family = counts(families, func(f uint8) string {
		return map[uint8]string{inetdiag.FamilyInet: "inet", inetdiag.FamilyInet6: "inet6"}[f]
	})
	sum.Cong = counts(congs, func(c inetdiag.Cong) string { return string(appendCong(nil, c)) })
	sum.Netns = counts(spaces, func(name string) string { return name })
	return sum, err
}

// counts orders groups by size, then name, so that equal dumps print alike.
func counts[K comparable](m map[K]int, name func(K) string) []Count {
	list := make([]Count, 0, len(m))
	for k := range maps.Keys(m) {
		list = append(list, Count{name(k), m[k]})
	}
	slices.SortFunc(list, func(a, b Count) int {
		return cmp.Or(cmp.Compare(b.Sockets, a.Sockets), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// WriteTable prints the summary for people.
func (s Summary) WriteTable(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	retrans := "-"
	if s.BytesSent > 0 {
		retrans = fmt.Sprintf("%.2f%%", 100*float64(s.BytesRetrans)/float64(s.BytesSent))
	}
	fmt.Fprintf(t, "sockets\t%d\nwith tcp_info\t%d\nsent\t%s\nretransmitted\t%s\nacked\t%s\nreceived\t%s\n",
		s.Sockets, s.WithInfo, size(s.BytesSent), retrans, size(s.BytesAcked), size(s.BytesReceived))
	for _, group := range []struct {
		name string
		list []Count
	}{{"state", s.State}, {"family", s.Family}, {"cong", s.Cong}, {"netns", s.Netns}} {
		fmt.Fprintf(t, "\n%s\tsockets\n", group.name)
		for _, c := range group.list {
			fmt.Fprintf(t, "%s\t%d\n", c.Name, c.Sockets)
		}
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write summary: %w", err)
	}
	return nil
}
