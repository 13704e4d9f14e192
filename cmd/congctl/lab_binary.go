package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"

	"github.com/congctl/congctl/internal/app/lab/report"
)

// thisBinary names the program that runs, which is the guest's /init as well.
func thisBinary() (b report.Binary, err error) {
	path, err := os.Executable()
	if err != nil {
		return b, fmt.Errorf("find own program: %w", err)
	}
	sum, err := hashOf(path)
	return report.Binary{Version: version, SHA256: sum}, err
}

func hashOf(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash file: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash %s: %w", path, err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
