package wire

import (
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Protobuf allows a tag in more bytes than it needs.
func TestDecodeBatchWithALongTag(t *testing.T) {
	var got []record.Conn
	err := DecodeBatch([]byte{0xb2, 0x00, 0x02, 0x18, 0x01}, func(_ *Header, c *record.Conn) error {
		got = append(got, *c)
		return nil
	})
	if want := (record.Conn{Window: 1}); err != nil || len(got) != 1 || got[0] != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
