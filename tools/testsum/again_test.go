package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// events returns what go test -json says of package p with these tests; "!" before a
// name: it fails.
func events(tests ...string) string {
	var b strings.Builder
	result := "pass"
	for _, name := range tests {
		name, failed := strings.CutPrefix(name, "!")
		action := "pass"
		if failed {
			action, result = "fail", "fail"
		}
		fmt.Fprintf(&b, `{"Action":"run","Package":"p","Test":%q}`+"\n", name)
		fmt.Fprintf(&b, `{"Action":"output","Package":"p","Test":%q,"Output":"    a_test.go:3: %s was late\n"}`+"\n", name, name)
		fmt.Fprintf(&b, `{"Action":%q,"Package":"p","Test":%q}`+"\n", action, name)
	}
	return b.String() + fmt.Sprintf(`{"Action":%q,"Package":"p"}`, result)
}

func TestLookAgain(t *testing.T) {
	const crash = `{"Action":"run","Package":"q","Test":"TestQ"}` + "\n" + `{"Action":"fail","Package":"q"}`
	for _, c := range []struct {
		name   string
		first  string
		second map[string]string // what comes of a test that is run alone
		ran    []string
		want   string // the last words
		flaky  []string
	}{
		{"nothing failed", events("TestA"), nil, nil, "1 passed, 0 failed, 0 skipped, 0 flaky", nil},
		{"passes alone", events("TestA", "!TestB"), map[string]string{"TestB": events("TestB")}, []string{"TestB"},
			"2 passed, 0 failed, 0 skipped, 1 flaky", []string{"flaky: p TestB (first run: TestB was late)\n"}},
		{"fails again", events("TestA", "!TestB"), map[string]string{"TestB": events("!TestB")}, []string{"TestB"},
			"1 passed, 1 failed, 0 skipped, 0 flaky", nil},
		{"a subtest", events("TestA", "!TestB/x", "!TestB"), map[string]string{"TestB": events("TestB/x", "TestB")}, []string{"TestB"},
			"3 passed, 0 failed, 0 skipped, 1 flaky", []string{"flaky: p TestB (first run: TestB/x was late; TestB was late)\n"}},
		{"another test passes alone", events("!TestB"), map[string]string{"TestB": events("TestBB")}, []string{"TestB"},
			"0 passed, 1 failed, 0 skipped, 0 flaky", nil},
		{"one of two", events("!TestA", "!TestB"), map[string]string{"TestA": events("!TestA"), "TestB": events("TestB")}, []string{"TestA", "TestB"},
			"1 passed, 1 failed, 0 skipped, 1 flaky", []string{"flaky: p TestB (first run: TestB was late)\n"}},
		{"too many", events("!TestA", "!TestB", "!TestC"), nil, nil, "0 passed, 3 failed, 0 skipped, 0 flaky", nil},
		{"beside a crash", events("!TestA") + "\n" + crash, nil, nil, "0 passed, 2 failed, 0 skipped, 0 flaky", nil},
	} {
		sum, err := read(strings.NewReader(c.first))
		if err != nil {
			t.Fatal(err)
		}
		var ran []string
		err = sum.lookAgain(2, func(k key) (*summary, error) {
			ran = append(ran, k.test)
			return read(strings.NewReader(c.second[k.test]))
		})
		var said strings.Builder
		sum.print(&said, "T")
		if err != nil || !slices.Equal(ran, c.ran) || !slices.Equal(sum.flaky, c.flaky) || !strings.HasSuffix(said.String(), c.want+"\n") {
			t.Errorf("%s: ran %q, flaky %q, %v:\n%s", c.name, ran, sum.flaky, err, said.String())
		}
	}
}

func TestLookAgainIsOff(t *testing.T) {
	sum, _ := read(strings.NewReader(events("!TestA")))
	if err := sum.lookAgain(0, func(key) (*summary, error) { return nil, errors.New("ran") }); err != nil || sum.failed != 1 {
		t.Errorf("%v, %d failed", err, sum.failed)
	}
}

// A test of this package, run by the real go test.
func TestRunAlone(t *testing.T) {
	k := key{"github.com/congctl/congctl/tools/testsum", "TestLookAgainIsOff"}
	sum, err := runAlone(k)
	if err != nil || sum.passed != 1 || sum.failed != 0 || !sum.good[k] {
		t.Errorf("%+v, %v", sum, err)
	}
	k.pkg += "/none"
	if sum, err := runAlone(k); err != nil || sum.good[k] {
		t.Errorf("of no package: %+v, %v", sum, err)
	}
}
