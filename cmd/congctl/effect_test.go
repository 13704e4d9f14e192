package main

import (
	"testing"

	"github.com/congctl/congctl/internal/goodput/accesslog"
	"github.com/congctl/congctl/internal/loop/config"
)

// Examples must not depend on this machine's sysctls.
func init() { sysctls.Root = "testdata/no-sysctls" }

// TestEveryFormatIsDecoded: the configuration takes the names that the decoder has.
func TestEveryFormatIsDecoded(t *testing.T) {
	for _, name := range config.Formats {
		if _, err := accesslog.ParseFormat(name); err != nil {
			t.Error(err)
		}
	}
}
