package main

import (
	"strings"
	"testing"
)

func TestSummary(t *testing.T) {
	for _, c := range []struct {
		name, in, want string
	}{
		{"pass, fail and skip", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"run","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Test":"TestB","Output":"    b_test.go:3: got 1\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"run","Package":"p","Test":"TestC"}
{"Action":"output","Package":"p","Test":"TestC","Output":"    c_test.go:9: needs root: x\n"}
{"Action":"output","Package":"p","Test":"TestC","Output":"--- SKIP: TestC (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestC"}
{"Action":"fail","Package":"p"}`,
			"FAIL p TestB\n    b_test.go:3: got 1\n  skipped   1: needs root: x\nT: 1 packages, 1 passed, 1 failed, 1 skipped, 0 flaky\n"},
		{"slow", `
{"Action":"pass","Package":"p","Test":"TestA","Elapsed":30}
{"Action":"pass","Package":"p","Test":"TestB/x","Elapsed":90}
{"Action":"pass","Package":"p","Test":"TestB","Elapsed":91.2}
{"Action":"pass","Package":"p","Test":"TestC","Elapsed":29.9}
{"Action":"pass","Package":"p","Elapsed":200}`,
			"  slow   91 s: TestB\n  slow   30 s: TestA\nT: 1 packages, 4 passed, 0 failed, 0 skipped, 0 flaky\n"},
		{"broken build", `
{"Action":"build-output","ImportPath":"p [p.test]","Output":"a.go:1: no\n"}
{"Action":"build-fail","ImportPath":"p [p.test]"}
{"Action":"fail","Package":"p","FailedBuild":"p [p.test]"}`,
			"FAIL p \na.go:1: no\nT: 1 packages, 0 passed, 1 failed, 0 skipped, 0 flaky\n"},
		{"panic in the middle of a test", `
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"panic: x\n"}
{"Action":"fail","Package":"p"}`,
			"FAIL p TestA\npanic: x\nT: 1 packages, 0 passed, 1 failed, 0 skipped, 0 flaky\n"},
		{"benchmark", `
{"Action":"run","Package":"p","Test":"BenchmarkA"}
{"Action":"output","Package":"p","Test":"BenchmarkA","Output":"BenchmarkA 1 2 ns/op\n"}
{"Action":"pass","Package":"p"}`, "T: 1 packages, 1 passed, 0 failed, 0 skipped, 0 flaky\n"},
		{"package without tests", `{"Action":"skip","Package":"p"}`, "T: 1 packages, 0 passed, 0 failed, 0 skipped, 0 flaky\n"},
		{"the end of the stream in the middle of a test", `{"Action":"run","Package":"p","Test":"TestA"}`,
			"FAIL p TestA\nT: 0 packages, 0 passed, 1 failed, 0 skipped, 0 flaky\n"},
		{"nothing", "", "T: 0 packages, 0 passed, 0 failed, 0 skipped, 0 flaky\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			sum, err := read(strings.NewReader(strings.TrimSpace(c.in)))
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			sum.print(&got, "T")
			if got.String() != c.want {
				t.Errorf("got:\n%s\nwant:\n%s", got.String(), c.want)
			}
		})
	}
}

func TestFailures(t *testing.T) {
	sum, _ := read(strings.NewReader(events("TestA", "!TestB/x", "!TestB")))
	if got, want := sum.failures(), "p TestB/x (TestB/x was late), p TestB (TestB was late)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
