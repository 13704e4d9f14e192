package report

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/lab/outcome"
)

// Every key of the folder's files stands on the format's page. The scenario has its own.
func TestEveryKeyIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/format/results.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, v := range []any{Manifest{}, outcome.Run{}, outcome.Result{}, outcome.Row{}, outcome.Winner{}, beside{}, Wall{}, Comparison{}} {
		for _, key := range keys(reflect.TypeOf(v)) {
			if seen++; !strings.Contains(string(page), "`"+key+"`") {
				t.Errorf("%T: key %q is not on the page", v, key)
			}
		}
	}
	if seen < 100 {
		t.Errorf("only %d keys were looked for", seen)
	}
}

func keys(t reflect.Type) (out []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return keys(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" {
				out = append(append(out, name), keys(t.Field(i).Type)...)
			}
		}
	}
	return out
}
