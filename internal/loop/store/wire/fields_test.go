package wire

import (
	"reflect"
	"testing"

	"github.com/congctl/congctl/internal/tcp/record"
)

// Fields and the four that it leaves out are all of a record, each once and under its name in the
// contract.
func TestFieldsAreAll(t *testing.T) {
	conn := reflect.TypeFor[record.Conn]()
	names, paths := map[string]string{}, map[string]bool{}
	for _, f := range Fields() {
		goName := conn.FieldByIndex(f.Index).Name
		if names[f.Name] != "" {
			t.Errorf("%s names two fields", f.Name)
		}
		names[f.Name] = goName
		key := goName
		if len(f.Index) > 1 {
			key = conn.Field(f.Index[0]).Name + "." + goName
		}
		paths[key] = true
	}
	for _, path := range leaves(conn, nil) {
		key := conn.FieldByIndex(path).Name
		if len(path) > 1 {
			key = conn.Field(path[0]).Name + "." + key
		}
		if !paths[key] && !connOthers[key] {
			t.Errorf("field %s is missing", key)
		}
		delete(paths, key)
	}
	if len(paths) > 0 {
		t.Errorf("no fields of a record: %v", paths)
	}
	for name, want := range map[string]string{"window": "Window", "win_bytes_acked": "WinBytesAcked", "info_snd_cwnd_segs": "SndCwnd",
		"info_len_bytes": "Len", "bbr_min_rtt_us": "MinRttUs", "has_bbr": "HasBBR"} {
		if names[name] != want {
			t.Errorf("%s is %q, want %s", name, names[name], want)
		}
	}
}
