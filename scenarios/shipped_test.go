package scenarios

import (
	"testing"

	"github.com/congctl/congctl/internal/core/scenario"
)

func TestShipped(t *testing.T) {
	for _, name := range Names() {
		text, _ := Text(name)
		s, err := scenario.Parse(name+".yml", text)
		if err != nil {
			t.Error(err)
			continue
		}
		for i := range s.Cells {
			c := &s.Cells[i]
			t.Logf("%-20s %v sample %d probe %d warm %d limit %d buf %d snd %d", c.ID, c.Cost(), c.SampleUs, c.ProbeUs, c.WarmUpUs, c.LimitUs, c.Path.BufferPacket, c.Sender.SndbufBytes)
		}
	}
}
