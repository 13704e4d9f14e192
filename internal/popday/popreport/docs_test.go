package popreport

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/congctl/congctl/internal/popday"
)

// Every key of report.json stands on the format's page.
func TestEveryKeyIsOnThePage(t *testing.T) {
	page, err := os.ReadFile("../../../docs/format/pop-report.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, key := range keys(reflect.TypeFor[popday.Report]()) {
		if seen++; !strings.Contains(string(page), "`"+key+"`") {
			t.Errorf("key %q is not on the page", key)
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
